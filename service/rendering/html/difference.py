"""Render the difference of two scores as a page: query, documents, and a bar for each part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.explanation import DifferencePart, Explanation, ReadText, Share
from semblance.service.rendering.caption import Caption, cut_notes
from semblance.service.rendering.colors import ColorScale
from semblance.service.rendering.html.page import ColoredUnit, color_key, colored_units, paragraph, render
from semblance.service.rendering.labels import SCORE_DECIMALS, in_sentence, label, plain, rounded_parts, signed
from semblance.service.rendering.view import View

_MAX_ROWS = 30
_MAX_NAME_EM = 40.0
_LEADING = 2  # parts that the title names for the document that stands above
_KIND_NAMES = {"special": "special tokens", "rest": "links left out"}


@dataclass(frozen=True, slots=True, eq=False)
class DocumentSide:
    """A document: its id, its best passage with the explanation, and the bonus of terms."""

    id: str
    text: ReadText
    explanation: Explanation
    bonus: float

    @property
    def total(self) -> float:
        """Its score with the bonus of terms."""
        return self.explanation.score + self.bonus


@dataclass(frozen=True, slots=True, eq=False)
class DifferencePage:
    """A query, two documents, and the parts of the difference of their scores.

    Attributes:
        query: the text that both are compared with.
        a, b: the documents.
        parts: the largest difference first; they sum to the scores with their bonuses.
        measure, model: served names.
        terms: whether the bonus of terms counts.
        distance: whether the score is minus a distance, so that 0 is the best possible.
        warnings: messages to show at the top.
    """

    query: ReadText
    a: DocumentSide
    b: DocumentSide
    parts: Sequence[DifferencePart]
    measure: str
    model: str
    terms: bool = False
    distance: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the table, with numbers as they are printed, so that they add up."""

    part: DifferencePart | None
    name: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        """Of the printed numbers."""
        return round(self.a - self.b, SCORE_DECIMALS)

    @property
    def is_many(self) -> bool:
        """Whether its name is a plural."""
        return self.part is None or self.part.kind in _KIND_NAMES


def render_difference(shown: DifferencePage, playground: str | None = None) -> str:
    """Render the query, both texts with colored words, and a table with a bar for each part.

    The printed numbers add up: over the rows to the total, and in each row to its difference. Every text is escaped.

    Args:
        shown: what to show.
        playground: relative address of the same search in the playground; None leaves out the link.
    """
    rows, total = _rows(shown)
    best = 0.0 if shown.distance else math.inf
    views = [
        View(side.explanation, Caption(shown.measure, shown.model, shown.query, side.text, "word", best))
        for side in (shown.a, shown.b)
    ]
    scale = ColorScale.over(*(view.sides[1].totals for view in views))
    texts = [paragraph(view.caption.b, colored_units(view.sides[1], view.caption, scale)) for view in views]
    matched = any(bool(view.matches.any()) for view in views)

    def partners_of(part: DifferencePart | None) -> tuple[list[str], list[str]]:
        """The words of B and A that make the shares of a part."""
        a, b = views
        return (_partners(part, part.b, b), _partners(part, part.a, a)) if part else ([], [])

    return render(
        "difference.html",
        title=_summary(rows, total),
        subtitle=_subtitle(shown),
        warnings=shown.warnings,
        messages=cut_notes({"The query": shown.query, "The text of A": shown.a.text, "The text of B": shown.b.text}),
        playground=playground,
        query=_query(shown),
        documents=zip("AB", (shown.a, shown.b), texts, strict=True),
        key=color_key(scale, views[0].caption, matched=matched),
        rows=rows,
        total=total,
        limit=max(abs(row.difference) for row in rows) if rows else 0.0,
        partners_of=partners_of,
    )


def _rows(shown: DifferencePage) -> tuple[list[_Row], _Row]:
    """The rows of the table, the largest difference first, and their total."""
    visible = [part for part in shown.parts if part.unit or _is_visible(part)]
    listed, more = visible[:_MAX_ROWS], visible[_MAX_ROWS:]
    others = more + [part for part in shown.parts if part not in visible]
    a = _column([part.a for part in listed], [part.a for part in others], shown.a.total)
    b = _column([part.b for part in listed], [part.b for part in others], shown.b.total)
    names = [*(_KIND_NAMES.get(part.kind, part.name) for part in listed), f"{len(others)} other parts"]
    rows = [_Row(*row) for row in zip([*listed, None], names, a, b, strict=True)]
    if rows[-1].a == rows[-1].b == 0:
        rows.pop()
    return rows, _Row(None, "Total", sum(a), sum(b))


def _is_visible(part: DifferencePart) -> bool:
    """Whether one of its shares is not printed as zero."""
    return any(round(share.contribution, SCORE_DECIMALS) for share in (part.a, part.b))


def _column(listed: Sequence[Share], others: Sequence[Share], total: float) -> tuple[float, ...]:
    """The shares of the rows and the sum of all others, as they are printed."""
    shares = [share.contribution for share in listed]
    return rounded_parts([*shares, sum(share.contribution for share in others)], total, SCORE_DECIMALS)


def _summary(rows: Sequence[_Row], total: _Row) -> str:
    """Which document stands above the other, and which parts make most of that.

    >>> rows = [_Row(None, "special tokens", 0.3, 0.2), _Row(None, "31 other parts", 0.1, 0.12)]
    >>> _summary(rows, _Row(None, "Total", 0.4, 0.32))
    'A stands 0.0800 above B: special tokens put it 0.1000 ahead; 31 other parts take back 0.0200'
    """
    if total.difference == 0:
        return f"A and B stand level, at {plain(total.a, SCORE_DECIMALS)}"
    above, below, sign = ("A", "B", 1) if total.difference > 0 else ("B", "A", -1)
    ahead = [row for row in rows if sign * row.difference > 0][:_LEADING]
    behind = [row for row in rows if sign * row.difference < 0][:1]
    text = f"{above} stands {_size(total)} above {below}"
    if ahead:
        text += f": {_quoted(ahead[0])} {'put' if ahead[0].is_many else 'puts'} it {_size(ahead[0])} ahead"
        text += "".join(f", {_quoted(row)} {_size(row)}" for row in ahead[1:])
    return text + "".join(f"; {_quoted(row)} {'take' if row.is_many else 'takes'} back {_size(row)}" for row in behind)


def _size(row: _Row) -> str:
    return plain(abs(row.difference), SCORE_DECIMALS)


def _quoted(row: _Row) -> str:
    if row.part is None or row.is_many:
        return row.name
    name = f"\u201c{in_sentence(row.name)}\u201d"
    return f"the term {name}" if row.part.kind == "term" else name


def _subtitle(shown: DifferencePage) -> str:
    parts = [f"by {label(shown.measure, _MAX_NAME_EM)}", label(shown.model, _MAX_NAME_EM)]
    if shown.terms:
        parts.append("with the bonus of terms, as a hybrid search orders documents")
    if shown.distance:
        parts.append("minus a distance: 0 is the best possible")
    return " \u00b7 ".join(parts)


def _query(shown: DifferencePage) -> str:
    words = [(part, part.unit) for part in shown.parts if part.unit]
    scale = ColorScale.over(np.array([part.difference for part, _ in words]))
    units = sorted(
        (ColoredUnit(unit, scale.name(part.difference), _in_both(part)) for part, unit in words),
        key=lambda colored: colored.unit.start,
    )
    return paragraph(shown.query, units)


def _in_both(part: DifferencePart) -> str:
    a, b = (plain(share.contribution, SCORE_DECIMALS) for share in (part.a, part.b))
    return f"{a} in A, {b} in B: {signed(part.difference, SCORE_DECIMALS)}"


def _partners(part: DifferencePart, share: Share, view: View) -> list[str]:
    """The words of a document that make a share, each once; a match at distance 0 costs nothing."""
    text, explanation = view.caption.b.text, view.explanation
    if share.partners or part.unit is None:
        return list(dict.fromkeys(text[partner.start : partner.end] for partner in share.partners))
    matches = view.matches[explanation.left.index(part.unit)]
    return [explanation.right[int(matches.argmax())].text] if matches.any() else []
