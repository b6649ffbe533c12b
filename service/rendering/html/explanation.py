"""Render an explanation as a page: both texts, the heat map and the strongest links."""

from __future__ import annotations

import numpy as np

from semblance.models.explanation import Explanation, Link
from semblance.models.text import Unit
from semblance.service.rendering.caption import Caption, matches, select
from semblance.service.rendering.colors import ColorScale, ink_on
from semblance.service.rendering.html.page import Heading, color_key, escaped, marked_texts, page
from semblance.service.rendering.labels import SCORE_DECIMALS, decimals_for, label, plain, signed
from semblance.service.rendering.side_panel import printed_parts
from semblance.service.rendering.svg import headline, render_figure, subtitle

_MAX_LINKS = 30
_MAX_WORD_EM = 40.0


def render_html(explanation: Explanation, caption: Caption) -> str:
    """Render both texts colored by contribution, the heat map, and the 30 strongest links.

    Every text is escaped.
    """
    heading = Heading(headline(explanation, caption), subtitle(explanation, caption), caption.warnings, caption.cuts)
    return page(heading, [_texts(explanation, caption), _figure(explanation, caption), _table(explanation, caption)])


def _texts(explanation: Explanation, caption: Caption) -> str:
    a, b = marked_texts(explanation, caption)
    scale = ColorScale.over(a.totals, b.totals)
    return f"""<section class="light">
<div class="texts">
<div><h2>Text a</h2>{a.paragraph(scale, caption)}</div>
<div><h2>Text b</h2>{b.paragraph(scale, caption)}</div>
</div>
<p class="faint">{color_key(scale, caption, matched=bool(a.matches.any()))}</p>
</section>"""


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
    none = f'<tr><td colspan="4">No {escaped(caption.granularity)}s are linked.</td></tr>'
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
    return f"<td><bdi>{escaped(label(unit.text, _MAX_WORD_EM))}</bdi></td>"
