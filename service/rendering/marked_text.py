"""A whole text in HTML, each unit on a background that shows what its links add up to."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation
from semblance.models.text import Unit
from semblance.service.rendering.colours import Scale, ink_on
from semblance.service.rendering.figures import decimals_for, plain, signed
from semblance.service.rendering.labels import in_sentence, legal
from semblance.service.rendering.scripts import language_of, runs


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One text's n units, those of the other text, and the (n, m) matrices between them."""

    text: str
    units: tuple[Unit, ...]
    others: tuple[Unit, ...]
    similarity: Doubles
    contribution: Doubles

    @property
    def totals(self) -> Doubles:
        """(n,) what the links of each unit add up to."""
        totals: Doubles = self.contribution.sum(axis=1)
        return totals


def sides(explanation: Explanation, a: str, b: str) -> tuple[Side, Side]:
    """The explanation as seen from either text."""
    left, right, alike, parts = explanation.left, explanation.right, explanation.similarity, explanation.contribution
    return Side(a, left, right, alike, parts), Side(b, right, left, alike.T, parts.T)


def paragraph(side: Side, scale: Scale) -> str:
    """The text as a `<p>` that finds its own direction; characters outside any unit stay plain."""
    totals, decimals = side.totals, decimals_for(Scale.over(side.contribution).limit)
    pieces, reached = [], 0
    for i, unit in enumerate(side.units):
        start = max(unit.start, reached)  # tokens may share characters: each character is shown once
        if unit.end <= start:
            continue
        colour = scale.colour(float(totals[i]))
        look = f"background:{colour};color:{ink_on(colour)}"
        pieces.append(safe(side.text[reached:start]))
        pieces.append(
            f'<mark style="{look}" title="{safe(_told(side, i, decimals))}">{safe(side.text[start : unit.end])}</mark>'
        )
        reached = unit.end
    pieces.append(safe(side.text[reached:]))
    return f'<p class="text" dir="auto" lang="{_language(side.text)}">{"".join(pieces)}</p>'


def safe(text: str) -> str:
    """Any text as content or as the value of an attribute in HTML."""
    return escape(legal(text))


def _told(side: Side, i: int, decimals: int) -> str:
    parts = side.contribution[i]
    total = f"contributes {signed(float(parts.sum()), decimals)}"
    if not np.any(parts):
        return total
    j = int(np.abs(parts).argmax())
    partner = f"{in_sentence(side.others[j].text)} ({signed(float(parts[j]), decimals)}"
    return f"{total}; strongest with {partner}, similarity {plain(float(side.similarity[i, j]), 2)})"


def _language(text: str) -> str:
    # Without one, Chinese characters take the shapes of the reader's country; otherwise the language is not known.
    return language_of(text) if any(asian for asian, _ in runs(text)) else ""
