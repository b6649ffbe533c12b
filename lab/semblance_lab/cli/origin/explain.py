"""`semblance origin explain`: contexts and terms behind a score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.toolbox.console import TextTable, print_table
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.outputs import save_json
from semblance_lab.cli.origin.options import Config, Device, Folder, Form, OriginOptions, SentenceCounts, Size
from semblance_lab.origin.scoring.context_explanation import ContextExplanation, Reason
from semblance_lab.origin.scoring.scoring import TERMS

if TYPE_CHECKING:
    from semblance_lab.origin.scoring.origin import Origin


def explain(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    a: Annotated[str, typer.Argument(metavar="A", help="Sentence.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Sentence to compare it with.", show_default=False)],
    *,
    top: Annotated[int, typer.Option(min=1, help="Number of contexts to show, by contribution.")] = 5,
    form: Form = "cosine",
    json: Annotated[Path | None, typer.Option(help="Write the full explanation to this file.", dir_okay=False)] = None,
    config: Config = None,
    size: Size = None,
    device: Device = None,
) -> None:
    """Show the contexts and terms behind a score.

    Prints the score of two sentences, the contribution of each term, and the contexts that contribute most. With
    cosine, a context contributes most where both sentences are least likely, since scores are logarithms; with the
    centred form, where both are more likely than on average, or both less.

    \b
    Examples:
      semblance origin explain runs/origin "A man plays a guitar." "Someone plays an instrument."
      semblance origin explain runs/origin "Stocks fell." "Prices rose." --form centred --top 10 --json why.json
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with exit_on(SemblanceError, OSError):
        origin = OriginOptions(folder, config, size, device).open()
        explanation = origin.explain(a, b, form)
        counts = SentenceCounts()
        counts.count([context_set.summary for context_set in origin.context_sets(sorted({a, b}))])
        counts.report(Console(stderr=True))
        for table in explanation_tables(explanation, origin.reasons(explanation, top)):
            print_table(table)
        if json:
            save_json(as_json(origin, explanation, (a, b)), json)


GAP = "___"


def explanation_tables(explanation: ContextExplanation, reasons: Sequence[Reason]) -> Iterator[TextTable]:
    """The score with the contributions of its terms, then the contexts of the reasons."""
    sums = explanation.by_term
    yield TextTable(
        f"Score ({explanation.form}), and the contribution of each term over {len(explanation.contexts):,} contexts",
        ("score", *TERMS),
        ((f"{explanation.score:.6f}", *(f"{sums[name]:+.6f}" for name in TERMS)),),
    )
    rows = tuple(
        (
            f"{reason.contribution:+.6f}",
            *(f"{score:.2f}" for score in reason.scores),
            *(f"{reason.parts[name]:+.6f}" for name in TERMS),
            f"{reason.left} {GAP} {reason.right}",
        )
        for reason in reasons
    )
    yield TextTable(
        "The contexts that contribute most, with the scores of both sentences in them",
        ("adds", "A scores", "B scores", *TERMS, "context"),
        rows,
    )


def as_json(origin: Origin, explanation: ContextExplanation, texts: tuple[str, str]) -> dict[str, Any]:
    """The score, the sum of each term, and every context with its text, by contribution."""
    every = origin.reasons(explanation, len(explanation.contexts))
    sets = dict(zip(("a", "b"), origin.context_sets(texts), strict=True))
    return {
        "a": texts[0],
        "b": texts[1],
        "form": explanation.form,
        "score": explanation.score,
        "by_term": explanation.by_term,
        "fallback": {side: each.fallback for side, each in sets.items()},
        "topped_up": {side: each.topped_up for side, each in sets.items()},
        "truncated": {side: each.truncated for side, each in sets.items()},
        "contexts": [asdict(each) for each in every],
    }
