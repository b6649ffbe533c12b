"""An explanation by contexts, as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from semblance.models.evaluation.reporting.tables import TextTable
from semblance.models.origin.scoring.context_explanation import ContextExplanation, Reason
from semblance.models.origin.scoring.origin import Origin
from semblance.models.origin.scoring.scoring import TERMS

GAP = "___"


def explanation_tables(explanation: ContextExplanation, reasons: Sequence[Reason]) -> Iterator[TextTable]:
    """The score with what the terms add, and then the contexts of the reasons."""
    sums = explanation.by_term
    yield TextTable(
        f"Score by the {explanation.form} form, and what each term adds over {len(explanation.contexts):,} contexts",
        ("score", *TERMS),
        ((f"{explanation.score:.6f}", *(f"{sums[name]:+.6f}" for name in TERMS)),),
    )
    rows = tuple(
        (
            f"{each.contribution:+.6f}",
            *(f"{score:.2f}" for score in each.scores),
            *(f"{each.parts[name]:+.6f}" for name in TERMS),
            f"{each.left} {GAP} {each.right}",
        )
        for each in reasons
    )
    yield TextTable(
        "The contexts that add most, with the scores of either sentence in them",
        ("adds", "A scores", "B scores", *TERMS, "context"),
        rows,
    )


def as_json(origin: Origin, explanation: ContextExplanation, texts: tuple[str, str]) -> dict[str, Any]:
    """The score, the sums, and every context with its text, those that add most first."""
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
