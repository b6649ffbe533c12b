"""What pages share: their frame and style, and texts with colored words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation, ReadText
from semblance.models.text import Booleans, Unit
from semblance.service.rendering.caption import Caption, matches
from semblance.service.rendering.colors import ColorScale
from semblance.service.rendering.fonts import BEGINNING, language_of, runs
from semblance.service.rendering.labels import decimals_for, in_sentence, legal, plain, signed

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
h1 { margin-bottom: .25rem; }
mark[title] { cursor: help; }
.matched { box-shadow: inset 0 -.15em var(--accent); }
.message { margin-top: .25rem; }
.warning { margin-top: .75rem; padding: .5rem .75rem; background: var(--alert); border-radius: .25rem;
  border-inline-start: .3rem solid var(--alert-rule); }
main header { margin-bottom: 1rem; }
.card + .card { margin-top: 1rem; }
"""


@dataclass(frozen=True, slots=True)
class Heading:
    """Title, subtitle, warnings, and other messages at the top of a page."""

    title: str
    subtitle: str
    warnings: Sequence[str]
    messages: Sequence[str]


def page(heading: Heading, sections: Iterable[str], style: str = "", playground: str | None = None) -> str:
    """A page with these sections, which are HTML, and more rules of style.

    It has the style of the playground, and a link to it at the relative address `playground`, if there is one. A
    content security policy in the head forbids scripts and resources, even if escaping fails.
    """
    title = escaped(heading.title)
    kinds = (("warning", heading.warnings), ("message", heading.messages))
    messages = "".join(f'<p class="{kind}">{escaped(each)}</p>' for kind, listed in kinds for each in listed)
    body = "\n".join(sections)
    link = f'<nav><a href="{escaped(playground)}">Open in the playground</a></nav>' if playground else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_playground_style()}{_STYLE}{style}</style>
</head>
<body>
<header class="top"><span class="brand">Semblance</span>{link}</header>
<main>
<header><h1>{title}</h1><p class="faint">{escaped(heading.subtitle)}</p>{messages}</header>
{body}
</main>
</body>
</html>
"""


@cache
def _playground_style() -> str:
    return (files("semblance.service") / "playground" / "assets" / "style.css").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class ColoredUnit:
    """A unit of a text with the value of its color and its tooltip, underlined if `matched`."""

    unit: Unit
    value: float
    title: str
    matched: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class MarkedText:
    """A text with n units, the m units of the other text, and (n, m) matrices between them."""

    read: ReadText
    units: Sequence[Unit]
    others: Sequence[Unit]
    similarity: Doubles
    contribution: Doubles
    matches: Booleans

    @property
    def totals(self) -> Doubles:
        """(n,) sums of the contributions of each unit."""
        totals: Doubles = self.contribution.sum(axis=1)
        return totals

    def paragraph(self, scale: ColorScale, caption: Caption) -> str:
        """The text with its units colored by contribution; a tooltip names the strongest partner."""
        decimals = decimals_for(scale.limit)
        colored = [
            ColoredUnit(unit, float(total), self._description(i, caption, decimals), bool(self.matches[i].any()))
            for i, (unit, total) in enumerate(zip(self.units, self.totals, strict=True))
        ]
        return paragraph(self.read, colored, scale)

    def _description(self, i: int, caption: Caption, decimals: int) -> str:
        parts = self.contribution[i]
        total = f"contributes {signed(float(parts.sum()), decimals)}"
        if self.matches[i].any():
            same = self.others[int(self.matches[i].argmax())].text
            return f"{total}; at distance 0 of {in_sentence(same)}"
        if not np.any(parts):
            return total
        j = int(np.abs(parts).argmax())
        partner = f"{in_sentence(self.others[j].text)} ({signed(float(parts[j]), decimals)}"
        return f"{total}; strongest with {partner}, {caption.closeness(float(self.similarity[i, j]))})"


def marked_texts(explanation: Explanation, caption: Caption) -> tuple[MarkedText, MarkedText]:
    """The two texts of an explanation."""
    same, similarity, contribution = matches(explanation, caption), explanation.similarity, explanation.contribution
    return (
        MarkedText(caption.a, explanation.left, explanation.right, similarity, contribution, same),
        MarkedText(caption.b, explanation.right, explanation.left, similarity.T, contribution.T, same.T),
    )


def paragraph(read: ReadText, units: Iterable[ColoredUnit], scale: ColorScale) -> str:
    """Render a text as a `<p>` with automatic direction, and its units as marks."""
    text, reached = read.text, read.start
    pieces = [_unread(text[:reached])]
    for each in units:
        start = max(each.unit.start, reached)  # tokens may share characters; each character is shown once
        if each.unit.end <= start:
            continue
        matched = " matched" if each.matched else ""
        pieces.append(escaped(text[reached:start]))
        shown = escaped(text[start : each.unit.end])
        pieces.append(f'<mark class="{scale.name(each.value)}{matched}" title="{escaped(each.title)}">{shown}</mark>')
        reached = each.unit.end
    end = max(reached, read.end)
    pieces += [escaped(text[reached:end]), _unread(text[end:])]
    return f'<p class="text" dir="auto" lang="{_language(text)}">{"".join(pieces)}</p>'


def color_key(scale: ColorScale, caption: Caption, *, matched: bool) -> str:
    """What the colors of marked texts mean."""
    unit = escaped(caption.granularity)
    key = f"Red {unit}s lower the score" if caption.distance else f"Blue {unit}s raise the score, red ones lower it"
    if matched:
        key += "; underlined ones have a partner at distance 0, which costs nothing"
    if scale.limit > 0:
        key += f"; the strongest color stands for {plain(scale.limit, decimals_for(scale.limit))}"
    return f"{key}. Rest the pointer on one for its strongest partner."


def escaped(text: str) -> str:
    """Escape a text for content or an attribute of HTML."""
    return escape(legal(text))


def _unread(text: str) -> str:
    return f'<span class="unread" title="not read by the model">{escaped(text)}</span>' if text else ""


def _language(text: str) -> str:
    # without one, Han characters take the shapes of the reader's country; for other scripts the language is not known
    return language_of(text) if any(asian for asian, _ in runs(text[:BEGINNING])) else ""
