"""Render an explanation as a self-contained HTML page: no scripts, fonts or network access."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation, Link, ReadText
from semblance.models.text import Booleans, Unit
from semblance.service.rendering.caption import Caption, matches, select
from semblance.service.rendering.colors import ColorScale, ink_on
from semblance.service.rendering.fonts import language_of, runs
from semblance.service.rendering.labels import SCORE_DECIMALS, decimals_for, in_sentence, label, legal, plain, signed
from semblance.service.rendering.side_panel import printed_parts
from semblance.service.rendering.svg import headline, render_figure, subtitle

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MAX_LINKS = 30
_MAX_WORD_EM = 40.0
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
mark { padding: .1em 0; border-radius: .15em; }
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


def render_html(explanation: Explanation, caption: Caption) -> str:
    """Render both texts colored by contribution, the heat map, and the 30 strongest links.

    Every text is escaped; in addition, a content security policy in the head forbids scripts and resources.
    """
    title = _escaped(headline(explanation, caption))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header><h1>{title}</h1><p class="faint">{_escaped(subtitle(explanation, caption))}</p>{_messages(caption)}</header>
{_texts(explanation, caption)}
{_figure(explanation, caption)}
{_table(explanation, caption)}
</main>
</body>
</html>
"""


def _messages(caption: Caption) -> str:
    kinds = (("warning", caption.warnings), ("message", caption.cuts))
    return "".join(f'<p class="{kind}">{_escaped(message)}</p>' for kind, messages in kinds for message in messages)


def _texts(explanation: Explanation, caption: Caption) -> str:
    a, b = _marked_texts(explanation, caption)
    scale = ColorScale.over(a.totals, b.totals)
    return f"""<section class="light">
<div class="texts">
<div><h2>Text a</h2>{_paragraph(a, scale, caption)}</div>
<div><h2>Text b</h2>{_paragraph(b, scale, caption)}</div>
</div>
<p class="faint">{_color_key(scale, caption, matched=bool(a.matches.any()))}</p>
</section>"""


def _color_key(scale: ColorScale, caption: Caption, *, matched: bool) -> str:
    unit = _escaped(caption.granularity)
    key = f"Red {unit}s lower the score" if caption.distance else f"Blue {unit}s raise the score, red ones lower it"
    if matched:
        key += "; underlined ones have a partner at distance 0, which costs nothing"
    if scale.limit > 0:
        key += f"; the strongest color stands for {plain(scale.limit, decimals_for(scale.limit))}"
    return f"{key}. Rest the pointer on one for its strongest partner."


def _figure(explanation: Explanation, caption: Caption) -> str:
    parts = printed_parts(select(explanation, caption).explanation)
    links, special, omitted = (plain(part, SCORE_DECIMALS) for part in parts.values())
    return f"""<figure class="light">
<div class="wide" tabindex="0" role="region" aria-label="Heat map">{render_figure(explanation, caption)}</div>
<figcaption class="faint">{links} from the links shown, {special} from links with special tokens (which the model
adds, such as [CLS]) and {omitted} from links left out sum to the score,
{plain(explanation.score, SCORE_DECIMALS)}.</figcaption>
</figure>"""


def _table(explanation: Explanation, caption: Caption) -> str:
    scale = ColorScale.over(explanation.contribution)
    links = [*explanation.strongest(_MAX_LINKS).links, *_free_links(explanation, caption)][:_MAX_LINKS]
    rows = [_row(explanation, link, scale, caption) for link in links]
    none = f'<tr><td colspan="4">No {_escaped(caption.granularity)}s are linked.</td></tr>'
    title = "Strongest links" + (", then those at distance 0" if matches(explanation, caption).any() else "")
    head = '<th scope="col" class="number">'
    closeness = f"{head}{'Distance' if caption.distance else 'Similarity'}</th>"
    return f"""<section>
<h2>{title}</h2>
<div class="wide"><table>
<thead><tr><th scope="col">a</th><th scope="col">b</th>{closeness}{head}Contribution</th></tr></thead>
<tbody>{"".join(rows) or none}</tbody>
</table></div>
</section>"""


def _free_links(explanation: Explanation, caption: Caption) -> list[Link]:
    """Links that cost nothing, in reading order."""
    return [Link(int(i), int(j), 0.0, 0.0) for i, j in np.argwhere(matches(explanation, caption))]


def _row(explanation: Explanation, link: Link, scale: ColorScale, caption: Caption) -> str:
    color = scale.color(link.contribution)
    return (
        f"<tr>{_word(explanation.left[link.left])}{_word(explanation.right[link.right])}"
        f'<td class="number">{plain(-link.similarity if caption.distance else link.similarity, 2)}</td>'
        f'<td class="number" style="background:{color};color:{ink_on(color)}">'
        f"{signed(link.contribution, decimals_for(scale.limit))}</td></tr>"
    )


def _word(unit: Unit) -> str:
    return f"<td><bdi>{_escaped(label(unit.text, _MAX_WORD_EM))}</bdi></td>"


@dataclass(frozen=True, slots=True, eq=False)
class _MarkedText:
    """A text with n units, the m units of the other text, and (n, m) matrices between them."""

    read: ReadText
    units: tuple[Unit, ...]
    others: tuple[Unit, ...]
    similarity: Doubles
    contribution: Doubles
    matches: Booleans

    @property
    def totals(self) -> Doubles:
        """(n,) sums of the contributions of each unit."""
        totals: Doubles = self.contribution.sum(axis=1)
        return totals


def _marked_texts(explanation: Explanation, caption: Caption) -> tuple[_MarkedText, _MarkedText]:
    left, right, same = explanation.left, explanation.right, matches(explanation, caption)
    cosines, parts = explanation.similarity, explanation.contribution
    return (
        _MarkedText(caption.a, left, right, cosines, parts, same),
        _MarkedText(caption.b, right, left, cosines.T, parts.T, same.T),
    )


def _paragraph(marked: _MarkedText, scale: ColorScale, caption: Caption) -> str:
    """Render a text as a `<p>` with automatic direction, and its units as marks."""
    totals, decimals = marked.totals, decimals_for(ColorScale.over(marked.contribution).limit)
    text, reached = marked.read.text, marked.read.start
    pieces = [_unread(text[:reached])]
    for i, unit in enumerate(marked.units):
        start = max(unit.start, reached)  # tokens may share characters; each character is shown once
        if unit.end <= start:
            continue
        color = scale.color(float(totals[i]))
        style = f"background:{color};color:{ink_on(color)}"
        matched = ' class="matched"' if marked.matches[i].any() else ""
        pieces.append(_escaped(text[reached:start]))
        title = _escaped(_description(marked, i, caption, decimals))
        pieces.append(f'<mark{matched} style="{style}" title="{title}">{_escaped(text[start : unit.end])}</mark>')
        reached = unit.end
    end = max(reached, marked.read.end)
    pieces += [_escaped(text[reached:end]), _unread(text[end:])]
    return f'<p class="text" dir="auto" lang="{_language(text)}">{"".join(pieces)}</p>'


def _unread(text: str) -> str:
    return f'<span class="unread" title="not read by the model">{_escaped(text)}</span>' if text else ""


def _escaped(text: str) -> str:
    """Escape a text for content or an attribute of HTML."""
    return escape(legal(text))


def _description(marked: _MarkedText, i: int, caption: Caption, decimals: int) -> str:
    parts = marked.contribution[i]
    total = f"contributes {signed(float(parts.sum()), decimals)}"
    if marked.matches[i].any():
        same = marked.others[int(marked.matches[i].argmax())].text
        return f"{total}; at distance 0 of {in_sentence(same)}"
    if not np.any(parts):
        return total
    j = int(np.abs(parts).argmax())
    partner = f"{in_sentence(marked.others[j].text)} ({signed(float(parts[j]), decimals)}"
    return f"{total}; strongest with {partner}, {caption.closeness(float(marked.similarity[i, j]))})"


def _language(text: str) -> str:
    # without one, Han characters take the shapes of the reader's country; for other scripts the language is not known
    return language_of(text) if any(asian for asian, _ in runs(text)) else ""
