"""Render an explanation as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from semblance.models.explanation import Explanation, Link
from semblance.models.text import Unit
from semblance.service.rendering.caption import Caption, headline, matches, subtitle
from semblance.service.rendering.colors import ColorScale, word_scale
from semblance.service.rendering.grid import MAX_WORDS, grid_of
from semblance.service.rendering.html.matrix import matrix_table
from semblance.service.rendering.html.page import Heading, color_key, escaped, marked_texts, page
from semblance.service.rendering.labels import SCORE_DECIMALS, decimals_for, label, plain, signed
from semblance.service.rendering.parts import ScorePart, score_parts

_MAX_LINKS = 30
_MAX_WORD_EM = 40.0
_SHADES = 6  # of the segments of the bar, in turn
_NOTE = "Text a downward, text b across; others are function words, punctuation and weak words."
_STYLE = """
.text { margin-top: .25rem; }
.matched-cell { box-shadow: inset 0 0 0 2px var(--accent); }
"""


def render_html(explanation: Explanation, caption: Caption, playground: str | None = None) -> str:
    """Render a score, the parts that sum to it, both texts, and their links.

    The links are a matrix, and a table of the 30 strongest. One scale of colors holds for all. Long texts have a matrix
    of sentences, and one of words to open. Every text is escaped.

    Args:
        explanation: what to show.
        caption: its names and texts.
        playground: relative address of the same texts in the playground; None leaves out the link.
    """
    heading = Heading(headline(explanation, caption), subtitle(explanation, caption), caption.warnings, caption.cuts)
    scale, grid, unit = word_scale(explanation), grid_of(explanation), caption.granularity
    name = "sentences" if grid.by_sentence else f"{unit}s"
    details = [_disclosure(f"Matrix of {name}", matrix_table(explanation, caption, grid, scale), _NOTE, opened=True)]
    if grid.by_sentence:
        words = grid_of(explanation, MAX_WORDS, by_sentence=False)
        details.append(_disclosure(f"Matrix of {unit}s", matrix_table(explanation, caption, words, scale), _NOTE))
    details.append(_disclosure(_links_title(explanation, caption), _links(explanation, caption, scale), opened=True))
    return page(
        heading,
        [
            '<article class="card">',
            _score(explanation, caption),
            _sum(score_parts(explanation), explanation.score),
            _texts(explanation, caption, scale),
            '<div class="details">',
            *details,
            "</div>\n</article>",
        ],
        _STYLE,
        playground,
    )


def _score(explanation: Explanation, caption: Caption) -> str:
    score = plain(explanation.score, SCORE_DECIMALS)
    meter = ""
    if not math.isinf(caption.best) and not caption.distance:
        name = f"Score {score}, at most {caption.best:g}"
        meter = f'<meter min="0" max="{caption.best:g}" value="{explanation.score:.6f}" aria-label="{name}"></meter>'
    return f'<div class="score-line"><output class="score">{score}</output>{meter}</div>'


def _sum(parts: Sequence[ScorePart], score: float) -> str:
    whole = sum(abs(part.value) for part in parts) or 1.0
    segments, terms = [], []
    for i, part in enumerate(parts):
        kind = f"{part.kind} {'negative' if part.value < 0 else 'positive'} n{i % _SHADES}"
        name, value = escaped(label(part.name, _MAX_WORD_EM)), signed(part.value, SCORE_DECIMALS)
        grow = abs(part.value) / whole
        segments.append(f'<div class="segment {kind}" style="flex-grow:{grow:.4f}" title="{name}: {value}"></div>')
        terms.append(
            f'<li class="{kind}"><span class="swatch" aria-hidden="true"></span><bdi class="name">{name}</bdi>'
            f'<data value="{part.value:.4f}">{value}</data></li>'
        )
    total = f'<li class="total"><span class="name">sum</span><data>{plain(score, SCORE_DECIMALS)}</data></li>'
    return (
        f'<div class="sum"><div class="bar" aria-hidden="true">{"".join(segments)}</div>'
        f'<ul class="parts" aria-label="Parts of the score">{"".join(terms)}{total}</ul></div>'
    )


def _texts(explanation: Explanation, caption: Caption, scale: ColorScale) -> str:
    a, b = marked_texts(explanation, caption)
    columns = "".join(
        f"<div><h2><bdi>{escaped(name)}</bdi></h2>{text.paragraph(scale, caption)}</div>"
        for name, text in zip(caption.names, (a, b), strict=True)
    )
    return f"""<div class="texts">{columns}</div>
<p class="faint">{color_key(scale, caption, matched=bool(a.matches.any()))}</p>"""


def _disclosure(name: str, content: str, note: str = "", *, opened: bool = False) -> str:
    note = f'<p class="faint">{note}</p>' if note else ""
    return (
        f"<details{' open' if opened else ''}><summary>{escaped(name)}</summary>"
        f'{note}<div class="scroll" tabindex="0" role="group" aria-label="{escaped(name)}">{content}</div></details>'
    )


def _links_title(explanation: Explanation, caption: Caption) -> str:
    return "Strongest links" + (", then those at distance 0" if matches(explanation, caption).any() else "")


def _links(explanation: Explanation, caption: Caption, scale: ColorScale) -> str:
    links = [*explanation.strongest(_MAX_LINKS).links, *_free_links(explanation, caption)][:_MAX_LINKS]
    if not links:
        return f"<p>No {escaped(caption.granularity)}s are linked.</p>"
    rows = "".join(_row(explanation, link, scale, caption) for link in links)
    head = '<th scope="col" class="number">'
    closeness = f"{head}{'Distance' if caption.distance else 'Similarity'}</th>"
    return f"""<table class="links">
<thead><tr><th scope="col">a</th><th scope="col">b</th>{closeness}{head}Contribution</th></tr></thead>
<tbody>{rows}</tbody>
</table>"""


def _free_links(explanation: Explanation, caption: Caption) -> list[Link]:
    """Links that cost nothing, in reading order."""
    return [Link(int(i), int(j), 0.0, 0.0) for i, j in np.argwhere(matches(explanation, caption))]


def _row(explanation: Explanation, link: Link, scale: ColorScale, caption: Caption) -> str:
    return (
        f"<tr>{_word(explanation.left[link.left])}{_word(explanation.right[link.right])}"
        f'<td class="number">{plain(-link.similarity if caption.distance else link.similarity, 2)}</td>'
        f'<td class="number {scale.name(link.contribution)}">'
        f"{signed(link.contribution, decimals_for(scale.limit))}</td></tr>"
    )


def _word(unit: Unit) -> str:
    return f"<td><bdi>{escaped(label(unit.text, _MAX_WORD_EM))}</bdi></td>"
