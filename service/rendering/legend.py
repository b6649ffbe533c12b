"""The scale of colours, with its numbers."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from semblance.service.rendering.colours import FAINT_INK, RULE, Scale
from semblance.service.rendering.figures import decimals_for, signed
from semblance.service.rendering.layout import PANEL_WIDTH
from semblance.service.rendering.lettering import Anchor, Point, Style, px, write

_STOPS = 9
_BAR_HEIGHT = 14.0
_ENDS: tuple[tuple[float, Anchor, str], ...] = (
    (-1.0, "start", "lowers the score"),
    (1.0, "end", "raises the score"),
)


def draw_legend(parent: ET.Element, at: Point, scale: Scale) -> None:
    """A bar of all colours from -limit to limit; `at` is its upper left corner."""
    group = ET.SubElement(parent, "g", {"class": "legend"})
    x, y = at
    write(group, (x, y + 11), "Contribution of a link", Style(size=13.0, bold=True))
    gradient = ET.SubElement(ET.SubElement(group, "defs"), "linearGradient", {"id": "contribution-scale"})
    for i in range(_STOPS):
        share = i / (_STOPS - 1)
        colour = scale.colour((2 * share - 1) * scale.limit)
        ET.SubElement(gradient, "stop", {"offset": f"{share:.3f}", "stop-color": colour})
    bar = {"x": px(x), "y": px(y + 24), "width": px(PANEL_WIDTH), "height": px(_BAR_HEIGHT), "stroke": RULE}
    ET.SubElement(group, "rect", bar | {"fill": "url(#contribution-scale)"})
    below = y + 24 + _BAR_HEIGHT
    write(group, (x + PANEL_WIDTH / 2, below + 16), "0", Style(size=11.0, fill=FAINT_INK, anchor="middle"))
    for end, anchor, meaning in _ENDS if scale.limit > 0 else ():
        style = Style(size=11.0, fill=FAINT_INK, anchor=anchor)
        edge = x + (end + 1) / 2 * PANEL_WIDTH
        write(group, (edge, below + 16), signed(end * scale.limit, decimals_for(scale.limit)), style)
        write(group, (edge, below + 31), meaning, style)
