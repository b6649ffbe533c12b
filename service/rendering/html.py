"""An explanation as a page of HTML that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from semblance.models.explanation import Explanation
from semblance.models.text import Unit
from semblance.service.rendering.bars import printed_parts
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.colours import Scale, ink_on
from semblance.service.rendering.figures import SCORE_DECIMALS, decimals_for, plain, signed
from semblance.service.rendering.labels import label
from semblance.service.rendering.marked_text import paragraph, safe, sides
from semblance.service.rendering.selection import select
from semblance.service.rendering.stylesheet import STYLE
from semblance.service.rendering.svg import headline, render_figure, subtitle

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MAX_LINKS = 30
_MAX_WORD_EM = 40.0


def render_html(explanation: Explanation, caption: Caption) -> str:
    """Both texts with each unit coloured by its links' sum, the heat map of `render_svg`, and the 30 strongest links.

    Every text is escaped, and a policy in the head forbids scripts and resources, should anything slip through.
    """
    title = safe(headline(explanation, caption))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<header><h1>{title}</h1><p class="faint">{safe(subtitle(caption))}</p></header>
{_texts(explanation, caption)}
{_figure(explanation, caption)}
{_table(explanation, caption)}
</main>
</body>
</html>
"""


def _texts(explanation: Explanation, caption: Caption) -> str:
    a, b = sides(explanation, caption.a, caption.b)
    scale = Scale.over(a.totals, b.totals)
    limit = plain(scale.limit, decimals_for(scale.limit))
    return f"""<section class="light">
<div class="texts">
<div><h2>Text a</h2>{paragraph(a, scale)}</div>
<div><h2>Text b</h2>{paragraph(b, scale)}</div>
</div>
<p class="faint">Blue {safe(caption.granularity)}s raise the score, red ones lower it; the strongest colour stands for
{limit}. Rest the pointer on one for its strongest partner.</p>
</section>"""


def _figure(explanation: Explanation, caption: Caption) -> str:
    parts = printed_parts(select(explanation, caption).explanation)
    links, special, omitted = (plain(part, SCORE_DECIMALS) for part in parts.values())
    return f"""<figure class="light">
<div class="wide" tabindex="0" role="region" aria-label="Heat map">{render_figure(explanation, caption)}</div>
<figcaption class="faint">{links} from the links shown, {special} from links with special tokens (marks that the model
adds, such as [CLS]) and {omitted} from links left out sum to the score,
{plain(explanation.score, SCORE_DECIMALS)}.</figcaption>
</figure>"""


def _table(explanation: Explanation, caption: Caption) -> str:
    strongest = explanation.strongest(_MAX_LINKS)
    scale = Scale.over(explanation.contribution)
    decimals = decimals_for(scale.limit)
    rows = []
    for link in strongest.links:
        colour = scale.colour(link.contribution)
        rows.append(
            f"<tr>{_word(explanation.left[link.left])}{_word(explanation.right[link.right])}"
            f'<td class="number">{plain(link.similarity, 2)}</td>'
            f'<td class="number" style="background:{colour};color:{ink_on(colour)}">'
            f"{signed(link.contribution, decimals)}</td></tr>"
        )
    none = f'<tr><td colspan="4">No {safe(caption.granularity)}s are linked.</td></tr>'
    head = '<th scope="col" class="number">'
    return f"""<section>
<h2>Strongest links</h2>
<div class="wide"><table>
<thead><tr><th scope="col">a</th><th scope="col">b</th>{head}Similarity</th>{head}Contribution</th></tr></thead>
<tbody>{"".join(rows) or none}</tbody>
</table></div>
</section>"""


def _word(unit: Unit) -> str:
    return f"<td><bdi>{safe(label(unit.text, _MAX_WORD_EM))}</bdi></td>"
