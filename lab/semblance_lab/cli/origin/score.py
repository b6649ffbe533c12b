"""`semblance origin score`: similarity of sentences by their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from semblance.models.errors import BadDataSet, SemblanceError
from semblance.models.files.tables import read_tsv
from semblance.service.cli.toolbox.console import loop_bars
from semblance.service.cli.toolbox.exits import exit_on
from semblance_lab.cli.origin.options import Config, Device, Folder, Form, OriginOptions, SentenceCounts, Size

if TYPE_CHECKING:
    from semblance_lab.origin.scoring.origin import Origin


def score(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    a: Annotated[str | None, typer.Argument(metavar="A", help="Sentence.", show_default=False)] = None,
    b: Annotated[
        str | None, typer.Argument(metavar="B", help="Sentence to compare it with.", show_default=False)
    ] = None,
    *,
    rows: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="TSV table with the columns sentence1 and sentence2."),
    ] = None,
    form: Form = "cosine",
    config: Config = None,
    size: Size = None,
    device: Device = None,
) -> None:
    """Score the similarity of sentences by their contexts.

    Prints the score of two sentences, or for a table one row a pair: score and both sentences, separated by tabs.

    \b
    Examples:
      semblance origin score runs/origin "A man plays a guitar." "Someone plays an instrument."
      semblance origin score runs/origin --rows pairs.tsv --form centred --size 20 > scores.tsv
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if (rows is None) != (a is not None and b is not None):
        raise typer.BadParameter("give either two sentences or a table", param_hint="A B or --rows")
    console = Console(stderr=True)
    with exit_on(SemblanceError, OSError):
        pairs = [(str(a), str(b))] if rows is None else read_pairs(rows)
        origin = OriginOptions(folder, config, size, device).open()
        print_scores(origin, pairs, form, console, alone=rows is None)


COLUMNS = ("sentence1", "sentence2")


def read_pairs(file: Path) -> list[tuple[str, str]]:
    """Read the sentence pairs of a table.

    Raises:
        BadDataSet: a column is missing, a sentence is empty, or there is no row.
    """
    pairs = [(row.text(COLUMNS[0]), row.text(COLUMNS[1])) for row in read_tsv(file, COLUMNS)]
    if not pairs:
        raise BadDataSet(f"{file} contains no pairs")
    return pairs


def print_scores(
    origin: Origin, pairs: Sequence[tuple[str, str]], form: Form, console: Console, *, alone: bool
) -> None:
    """Print one row a pair as soon as it is scored; with `alone` only the score."""
    counts, counted = SentenceCounts(), set[str]()
    if not alone:
        typer.echo("\t".join(("score", *COLUMNS)))
    starts = range(0, len(pairs), origin.pairs_per_batch)
    with loop_bars(console) as track:
        for start in track(starts, f"{origin.pairs_per_batch} pairs at a time"):
            batch = pairs[start : start + origin.pairs_per_batch]
            scores = origin.similarities([a for a, _ in batch], [b for _, b in batch], form)
            new = {text for pair in batch for text in pair} - counted
            counts.count([context_set.summary for context_set in origin.context_sets(sorted(new))])
            counted |= new
            for score, (a, b) in zip(scores, batch, strict=True):
                typer.echo(f"{score:.6f}" if alone else f"{score:.6f}\t{a}\t{b}")
    counts.report(console)
