"""Render the difference of two scores as a page: query, documents, and a bar for each part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.explanation import DifferencePart, Explanation, ReadText, Share
from semblance.service.rendering.caption import Caption, cut_notes, matches
from semblance.service.rendering.colors import ColorScale
from semblance.service.rendering.html.page import (
    ColoredUnit,
    Heading,
    MarkedText,
    color_key,
    escaped,
    marked_texts,
    page,
    paragraph,
)
from semblance.service.rendering.labels import (
    SCORE_DECIMALS,
    in_sentence,
    label,
    plain,
    rounded_parts,
    signed,
)

_MAX_ROWS = 30
_MAX_WORD_EM = 24.0
_MAX_NAME_EM = 40.0
_LEADING = 2  # parts that the title names for the document that stands above
_KIND_NAMES = {"special": "special tokens", "rest": "links left out"}
_STYLE = """
.texts .text { margin-top: .5rem; }
.texts h2 bdi { overflow-wrap: anywhere; }
.shares td, .shares th { vertical-align: top; }
.shares th[scope="row"] { font-size: 1rem; font-weight: 400; color: var(--ink); width: 24%; }
.shares .partners { display: block; color: var(--faint); font-size: .8125rem; line-height: 1.35;
  white-space: normal; }
.shares .number { width: 17%; }
.shares .of-a { text-align: start; }
.shares .of-bar { width: 28%; min-width: 4rem; }
.shares th.of-bar { text-align: center; }
.track { position: relative; height: 1.1em; margin: .2em 0;
  background: linear-gradient(var(--rule), var(--rule)) center / 1px 100% no-repeat; }
.track span { position: absolute; top: .1em; bottom: .1em; border-radius: .15em; min-width: 1px;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.shares tfoot td, .shares tfoot th { border-bottom: 0; border-top: 2px solid var(--ink); font-weight: 600; }
.shares tfoot th[scope="row"] { font-weight: 600; }
.toward-a { background: var(--plus-4); }
.toward-b { background: var(--minus-4); }
@media (max-width: 40rem) {
  h1 { font-size: 1.25rem; }
  .shares tr { display: grid; grid-template-columns: 1fr 1fr; border-bottom: 1px solid var(--rule); padding: .4rem 0; }
  .shares thead tr { border-bottom: 0; padding: 0; }
  .shares td, .shares th, .shares .number, .shares .of-bar, .shares th[scope="row"] { width: auto; border: 0;
    padding: .1rem .35rem; min-width: 0; }
  .shares .of-part { order: 1; }
  .shares .of-difference { order: 2; }
  .shares .of-bar { order: 3; grid-column: 1 / -1; }
  .shares .of-b { order: 4; text-align: start; }
  .shares .of-a { order: 5; text-align: end; }
  .shares tfoot tr { border-top: 2px solid var(--ink); border-bottom: 0; }
  .shares tfoot td, .shares tfoot th { border: 0; }
}
.shares { width: 100%; }
@media print {
  .shares tr { break-inside: avoid; }
  .shares tfoot { display: table-row-group; } /* else the total is repeated on every sheet */
  section { border-color: #999; }
}
"""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentSide:
    """A document: its id, its best passage with the explanation, and the bonus of terms."""

    id: str
    text: ReadText
    explanation: Explanation
    bonus: float


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
    cuts = cut_notes({"The query": shown.query, "The text of A": shown.a.text, "The text of B": shown.b.text})
    heading = Heading(_summary(rows, total), _subtitle(shown), shown.warnings, cuts)
    return page(heading, [_query(shown), _documents(shown), _table(shown, rows, total)], _STYLE, playground)


def _rows(shown: DifferencePage) -> tuple[list[_Row], _Row]:
    """The rows of the table, the largest difference first, and their total."""
    visible = [part for part in shown.parts if part.unit or _is_visible(part)]
    listed, more = visible[:_MAX_ROWS], visible[_MAX_ROWS:]
    others = more + [part for part in shown.parts if part not in visible]
    a = _column([part.a for part in listed], [part.a for part in others], _total(shown.a))
    b = _column([part.b for part in listed], [part.b for part in others], _total(shown.b))
    names = [*(_KIND_NAMES.get(part.kind, part.name) for part in listed), f"{len(others)} other parts"]
    rows = [_Row(*each) for each in zip([*listed, None], names, a, b, strict=True)]
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


def _total(side: DocumentSide) -> float:
    return side.explanation.score + side.bonus


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
    words = [part for part in shown.parts if part.unit]
    scale = ColorScale.over(np.array([part.difference for part in words]))
    units = sorted(
        (ColoredUnit(part.unit, part.difference, _in_both(part)) for part in words if part.unit),
        key=lambda each: each.unit.start,
    )
    return f"""<section class="card">
<h2>Query</h2>{paragraph(shown.query, units, scale)}
<p class="faint">Blue words count for A, red ones for B.</p>
</section>"""


def _in_both(part: DifferencePart) -> str:
    a, b = (plain(share.contribution, SCORE_DECIMALS) for share in (part.a, part.b))
    return f"{a} in A, {b} in B: {signed(part.difference, SCORE_DECIMALS)}"


def _documents(shown: DifferencePage) -> str:
    captions = [_caption(shown, side) for side in _sides(shown)]
    texts = [marked_texts(side.explanation, caption)[1] for side, caption in zip(_sides(shown), captions, strict=True)]
    scale = ColorScale.over(*(text.totals for text in texts))
    columns = "".join(
        _document(name, side, text, scale, caption)
        for name, side, text, caption in zip("AB", _sides(shown), texts, captions, strict=True)
    )
    matched = any(bool(text.matches.any()) for text in texts)
    return f"""<section class="card">
<div class="texts">{columns}</div>
<p class="faint">{color_key(scale, captions[0], matched=matched)}</p>
</section>"""


def _caption(shown: DifferencePage, side: DocumentSide) -> Caption:
    best = 0.0 if shown.distance else math.inf
    return Caption(shown.measure, shown.model, shown.query, side.text, "word", best)


def _sides(shown: DifferencePage) -> tuple[DocumentSide, DocumentSide]:
    return shown.a, shown.b


def _document(name: str, side: DocumentSide, text: MarkedText, scale: ColorScale, caption: Caption) -> str:
    score = f"score {plain(side.explanation.score, SCORE_DECIMALS)}"
    if side.bonus:
        bonus, total = (plain(value, SCORE_DECIMALS) for value in (side.bonus, _total(side)))
        score += f" + bonus of terms {bonus} = {total}"
    return (
        f"<div><h2>{name}: <bdi>{escaped(label(side.id, _MAX_NAME_EM))}</bdi></h2>"
        f'<p class="faint">{score}</p>{text.paragraph(scale, caption)}</div>'
    )


def _table(shown: DifferencePage, rows: Sequence[_Row], total: _Row) -> str:
    scale = ColorScale.over(np.array([row.difference for row in rows]))
    head = '<th scope="col" class="number'
    body = "".join(_line(row, shown, scale) for row in rows)
    return f"""<section class="card">
<h2>What makes the difference</h2>
<table class="shares">
<thead><tr><th scope="col" class="of-part">Part of the query</th>{head} of-b">B</th>
<th scope="col" class="of-bar">\u2190 more in B \u00b7 more in A \u2192</th>
{head} of-a">A</th>{head} of-difference">A \u2212 B</th></tr></thead>
<tbody>{body}</tbody>
<tfoot>{_line(total, shown, ColorScale(0.0))}</tfoot>
</table>
</section>"""


def _line(row: _Row, shown: DifferencePage, scale: ColorScale) -> str:
    tag = ' <span class="faint">term</span>' if row.part and row.part.kind == "term" else ""
    name = escaped(label(row.name, _MAX_WORD_EM))
    b, a = (
        f'<td class="number of-{key}">{plain(value, SCORE_DECIMALS)}{_partners(row.part, key, side, shown)}</td>'
        for key, value, side in (("b", row.b, shown.b), ("a", row.a, shown.a))
    )
    return (
        f'<tr><th scope="row" class="of-part"><bdi>{name}</bdi>{tag}</th>{b}'
        f'<td class="of-bar">{_bar(row.difference, scale)}</td>{a}'
        f'<td class="number of-difference">{signed(row.difference, SCORE_DECIMALS)}</td></tr>'
    )


def _bar(difference: float, scale: ColorScale) -> str:
    """A bar from the middle to the right for A, to the left for B; none without a scale."""
    if scale.limit == 0:
        return ""
    if difference == 0:
        return '<div class="track"></div>'
    width = 50 * abs(difference) / scale.limit
    start, key = (50.0, "a") if difference > 0 else (50 - width, "b")
    return f'<div class="track"><span class="toward-{key}" style="left:{start:.2f}%;width:{width:.2f}%"></span></div>'


def _partners(part: DifferencePart | None, key: str, side: DocumentSide, shown: DifferencePage) -> str:
    """The words of a document that make the share of a part, beneath its number."""
    if part is None:
        return ""
    share = part.a if key == "a" else part.b
    names = _names(share, side.text.text) or _matched(part, side, shown)
    listed = ", ".join(f"<bdi>{escaped(label(name, _MAX_WORD_EM))}</bdi>" for name in names)
    return f'<span class="partners">{listed}</span>' if listed else ""


def _names(share: Share, text: str) -> list[str]:
    """The texts of the partners, each once."""
    return list(dict.fromkeys(text[each.start : each.end] for each in share.partners))


def _matched(part: DifferencePart, side: DocumentSide, shown: DifferencePage) -> Iterable[str]:
    """The partner of a word at distance 0, which costs nothing."""
    if part.unit is None:
        return []
    [found] = matches(side.explanation, _caption(shown, side))[[side.explanation.left.index(part.unit)]]
    return [side.explanation.right[int(found.argmax())].text] if found.any() else []
