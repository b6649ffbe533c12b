"""What `semblance origin score` does once its options are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from semblance.models.errors import BadDataSet
from semblance.models.files.tables import table
from semblance.models.origin.scoring.origin import Origin
from semblance.models.origin.scoring.scoring import Form
from semblance.service.cli.origin.opened import Oddities
from semblance.service.cli.progress import bars

COLUMNS = ("sentence1", "sentence2")


def read_pairs(file: Path) -> list[tuple[str, str]]:
    """The pairs of a table.

    Raises:
        BadDataSet: a column is missing, a sentence is empty, or there is no row.
    """
    pairs = [(row.text(COLUMNS[0]), row.text(COLUMNS[1])) for row in table(file, COLUMNS)]
    if not pairs:
        raise BadDataSet(f"{file} holds no pairs")
    return pairs


def print_scores(
    origin: Origin, pairs: Sequence[tuple[str, str]], form: Form, console: Console, *, alone: bool
) -> None:
    """A row a pair as soon as it is scored; of one `alone` only the score."""
    oddities, counted = Oddities(), set[str]()
    if not alone:
        typer.echo("\t".join(("score", *COLUMNS)))
    starts = range(0, len(pairs), origin.pairs_at_once)
    with bars(console) as track:
        for start in track(starts, f"{origin.pairs_at_once} pairs at a time"):
            some = pairs[start : start + origin.pairs_at_once]
            scores = origin.similarities([a for a, _ in some], [b for _, b in some], form)
            new = {text for pair in some for text in pair} - counted
            oddities.count(origin.context_sets(sorted(new)))
            counted |= new
            for found, (a, b) in zip(scores, some, strict=True):
                typer.echo(f"{found:.6f}" if alone else f"{found:.6f}\t{a}\t{b}")
    oddities.tell(console)
