"""What pages share: their frame and style, and texts with colored words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation, ReadText
from semblance.models.text import Booleans, Unit
from semblance.service.rendering.caption import Caption, matches
from semblance.service.rendering.colors import ColorScale, ink_on
from semblance.service.rendering.fonts import language_of, runs
from semblance.service.rendering.labels import decimals_for, in_sentence, legal, plain, signed

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark;
  --ink: #1f2933; --faint: #5b6770; --rule: #d9dfe4; --paper: #ffffff; --page: #f4f6f8; --alert: #fff3d6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaee; --faint: #a3adb6; --rule: #39434c; --paper: #1c2329; --page: #13181c; --alert: #4a3a12; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 "Segoe UI", "Noto Sans", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
p { margin: 0; }
.faint { color: var(--faint); font-size: .875rem; }
section, figure { margin: 1.25rem 0 0; padding: 1.25rem; background: var(--paper);
  border: 1px solid var(--rule); border-radius: .5rem; }
.texts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1.5rem; }
.texts + .faint { margin-top: 1rem; }
.unread { color: #6b757d; background: #eceff1; }
.matched { box-shadow: inset 0 -.15em #4393c3; }
.message { margin-top: .25rem; }
.warning { margin-top: .75rem; padding: .5rem .75rem; background: var(--alert); border-radius: .25rem;
  border-inline-start: .3rem solid #d97706; }
.text { line-height: 1.9; white-space: pre-wrap; overflow-wrap: anywhere; text-align: start; }
mark { padding: .1em 0; border-radius: .15em; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.light { --ink: #1f2933; --faint: #5b6770; --paper: #ffffff; color: var(--ink); }
figure { padding: .25rem; }
figcaption { padding: 0 1rem 1rem; }
.wide { overflow-x: auto; }
svg { display: block; max-width: 100%; min-width: 34rem; height: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .75rem; text-align: start; border-bottom: 1px solid var(--rule); overflow-wrap: anywhere; }
th { font-size: .875rem; color: var(--faint); font-weight: 600; }
td:not(.number) { min-width: 4rem; }
.number { text-align: end; font-variant-numeric: tabular-nums; width: 1%; white-space: nowrap; }
@media (min-width: 45rem) { .number { width: 9rem; } }
@media (max-width: 30rem) {
  main { padding-inline: .75rem; }
  section { padding: .9rem; }
  th, td { padding-inline: .35rem; }
}
"""


@dataclass(frozen=True, slots=True)
class Heading:
    """Title, subtitle, warnings, and other messages at the top of a page."""

    title: str
    subtitle: str
    warnings: Sequence[str]
    messages: Sequence[str]


def page(heading: Heading, sections: Iterable[str], style: str = "") -> str:
    """A page with these sections, which are HTML, and more rules of style.

    A content security policy in the head forbids scripts and resources, even if escaping fails.
    """
    title = escaped(heading.title)
    kinds = (("warning", heading.warnings), ("message", heading.messages))
    messages = "".join(f'<p class="{kind}">{escaped(each)}</p>' for kind, listed in kinds for each in listed)
    body = "\n".join(sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}{style}</style>
</head>
<body>
<main>
<header><h1>{title}</h1><p class="faint">{escaped(heading.subtitle)}</p>{messages}</header>
{body}
</main>
</body>
</html>
"""


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
        decimals = decimals_for(ColorScale.over(self.contribution).limit)
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
        color = scale.color(each.value)
        style = f"background:{color};color:{ink_on(color)}"
        matched = ' class="matched"' if each.matched else ""
        pieces.append(escaped(text[reached:start]))
        shown = escaped(text[start : each.unit.end])
        pieces.append(f'<mark{matched} style="{style}" title="{escaped(each.title)}">{shown}</mark>')
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
    return language_of(text) if any(asian for asian, _ in runs(text)) else ""
