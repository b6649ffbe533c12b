"""Render an explanation as a page."""

from __future__ import annotations

from markupsafe import Markup

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption, headline, subtitle
from semblance.service.rendering.colors import ColorScale
from semblance.service.rendering.html.page import color_key, colored_units, paragraph, render
from semblance.service.rendering.parts import bar_of
from semblance.service.rendering.verdict import verdict_line
from semblance.service.rendering.view import MAX_WORDS, Grid, Side, View

_MAX_LINKS = 30


def render_html(explanation: Explanation, caption: Caption, playground: str | None = None) -> str:
    """Render a score, the parts that sum to it, both texts, and their links.

    The links are a matrix, and a table of the 30 strongest. One scale of colors holds for all. Long texts have a matrix
    of sentences, and one of words to open. Every text is escaped.

    Args:
        explanation: what to show.
        caption: its names and texts.
        playground: relative address of the same texts in the playground; None leaves out the link.
    """
    view = View(explanation, caption)
    scale = view.scale
    grid, unit = view.grid(), caption.granularity
    grids = [(f"Matrix of {'sentences' if grid.by_sentence else f'{unit}s'}", grid)]
    if grid.by_sentence:
        grids.append((f"Matrix of {unit}s", view.grid(MAX_WORDS, by_sentence=False)))
    return render(
        "explanation.html",
        title=headline(explanation, caption),
        subtitle=subtitle(explanation, caption),
        verdict=caption.same and verdict_line(caption.same),
        warnings=caption.warnings,
        messages=caption.cuts,
        playground=playground,
        caption=caption,
        explanation=explanation,
        scale=scale,
        parts=view.parts,
        bar=bar_of(view.parts, caption.best),
        texts=[(side.name, paragraph(side.read, colored_units(side, caption, scale))) for side in view.sides],
        key=color_key(scale, caption, matched=bool(view.matches.any()), differs=any(map(_differs, view.sides))),
        matrices=[(name, matrix, _cells(matrix, scale)) for name, matrix in grids],
        links=view.links(_MAX_LINKS),
        function_words=next((part for part in view.parts if part.kind == "function"), None),
        links_title="Strongest links" + (", then those at distance 0" if view.matches.any() else ""),
    )


def _differs(side: Side) -> bool:
    return bool(side.differs.any())


def _cells(grid: Grid, scale: ColorScale) -> list[Markup]:
    """The cells of each row: two words have the colors of the texts, sums over several bars."""
    rows = ("".join(_cell(*cell) for cell in row) for row in grid.in_classes(scale))
    return [Markup(row) for row in rows]  # nosec B704 # noqa: S704 - numbers and names of classes only


def _cell(name: str, number: str, share: float | None) -> str:
    bar = "" if share is None else f' style="--share:{share:.1f}%"'
    return f'<td class="{name}"{bar}>{number}</td>' if name else "<td></td>"
