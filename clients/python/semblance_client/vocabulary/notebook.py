"""Explanations as self-contained HTML without scripts, for light and dark notebooks.

Colors are transparent tints over the page's own background, and text has the page's own color. Styles are attributes,
as notebooks remove style sheets or would apply them to the whole page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from semblance_client.vocabulary.explanation import Explanation, Part, Side

RAISES, LOWERS = "75,149,198", "210,96,77"  # blue raises the score, red lowers it, as in the service's pictures
STRONGEST_TINT = 0.55  # opacity behind the word with the largest share: text stays legible on it
UNREAD_CHARS = 200  # shown of what the model did not read
FAINT = "opacity:.6"
_TEXT = (
    "margin:.3em 0;max-height:13em;overflow:auto;overflow-wrap:anywhere;"
    "scrollbar-width:thin;scrollbar-color:currentColor transparent"
)


def explanation_html(explanation: Explanation) -> str:
    """Both texts, with words tinted by their share of the score, and a table of its parts."""
    shares = _shares(explanation)
    strongest = max((abs(share) for side in shares for share in side.values()), default=0.0)
    texts = "".join(
        f'<div dir="auto" style="{_TEXT}">{_marked(side, share, strongest)}</div>'
        for side, share in zip((explanation.a, explanation.b), shares, strict=True)
    )
    verdict = f"<div><b>{escape(str(explanation.same))}</b></div>" if explanation.same else ""
    title = (
        f'{verdict}<div style="margin-bottom:.4em"><b style="font-size:1.25em">{explanation.score:.4f}</b> '
        f'<span style="{FAINT}">by {escape(explanation.measure)}</span></div>'
    )
    return (
        '<div style="max-width:42em;font:14px/1.6 system-ui,sans-serif;color:inherit;text-align:left">'
        f"{title}{texts}{_table(explanation)}</div>"
    )


def _shares(explanation: Explanation) -> tuple[Mapping[int, float], Mapping[int, float]]:
    """The share of the score of each word of both texts: the sum over its links."""
    left: dict[int, float] = {}
    right: dict[int, float] = {}
    for link in explanation.links:
        left[link.a] = left.get(link.a, 0.0) + link.contribution
        right[link.b] = right.get(link.b, 0.0) + link.contribution
    return left, right


def _marked(side: Side, shares: Mapping[int, float], strongest: float) -> str:
    """A text with its words tinted; what the model did not read is faint and shortened."""
    pieces = [_faint("…" * (side.read_start > UNREAD_CHARS) + side.text[: side.read_start][-UNREAD_CHARS:])]
    position = side.read_start
    for i, token in enumerate(side.tokens):
        if i in shares and token.start >= position:
            pieces.append(escape(side.text[position : token.start]))
            pieces.append(_tinted(side.text[token.start : token.end], shares[i], strongest))
            position = token.end
    pieces.append(escape(side.text[position : side.read_end]))
    unread = side.text[side.read_end :]
    pieces.append(_faint(unread[:UNREAD_CHARS] + "…" * (len(unread) > UNREAD_CHARS)))
    return "".join(pieces)


def _tinted(word: str, share: float, strongest: float) -> str:
    opacity = STRONGEST_TINT * abs(share) / strongest if strongest else 0.0
    color = f"rgba({RAISES if share >= 0 else LOWERS},{opacity:.2f})"
    return f'<span title="{share:+.4f}" style="background:{color};border-radius:.2em">{escape(word)}</span>'


def _faint(text: str) -> str:
    return f'<span style="{FAINT}">{escape(text)}</span>' if text else ""


def _table(explanation: Explanation) -> str:
    """The strongest links with a bar each, and the sums of all else."""
    parts = list(explanation.parts())
    values = [0.0, *(part.contribution for part in parts if not part.is_sum)]
    low, high = min(values), max(values)
    rows = "".join(_row(part, "" if part.is_sum else _bar(part.contribution, low, high)) for part in parts)
    return (
        '<table style="border-collapse:collapse;width:100%;margin:.6em 0 0;background:transparent;color:inherit;'
        f'font-size:13px"><tbody>{rows}</tbody></table>'
    )


_CELL = "padding:.15em .6em .15em 0;border:0;text-align:left;vertical-align:middle;background:transparent"
_WORD = f"{_CELL};max-width:8em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
_NUMBER = f"{_CELL};padding-right:0;text-align:right;font-variant-numeric:tabular-nums"


def _row(part: Part, bar: str) -> str:
    """A row: words, bar, share."""
    words = "".join(f'<td style="{_WORD}" title="{escape(word)}"><bdi>{escape(word)}</bdi></td>' for word in part.words)
    if part.is_sum:
        words = f'<td colspan="2" style="{_CELL};{FAINT}">{escape(part.words[0])}</td>'
    return (
        f'<tr style="background:transparent;border:0">{words}<td style="{_CELL};width:50%">{bar}</td>'
        f'<td style="{_NUMBER}">{part.contribution:+.4f}</td></tr>'
    )


def _bar(value: float, low: float, high: float) -> str:
    """A bar from 0 to a value, from `low` to `high`, and a line at 0 if bars go both ways."""
    span = (high - low) / 100 or math.inf
    axis = (
        f'<div style="position:absolute;left:{-low / span:.1f}%;top:-.2em;bottom:-.2em;'
        'border-left:1px solid currentColor;opacity:.4"></div>'
    )
    return (
        '<div style="position:relative;height:.8em">'
        f'<div style="position:absolute;left:{abs(min(value, 0.0) - low) / span:.1f}%;'
        f"width:{abs(value) / span:.1f}%;height:100%;"
        f'background:rgba({RAISES if value >= 0 else LOWERS},.9);border-radius:.15em"></div>'
        f"{axis if low < 0 < high else ''}</div>"
    )
