"""Text elements of an SVG, with a font for each character, isolated from their neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from xml.etree import ElementTree as ET

from semblance.service.rendering.colors import INK
from semblance.service.rendering.fonts import Language, font_family, runs
from semblance.service.rendering.labels import isolated

Point: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]

# DejaVu Sans comes first because resvg always has it (see fonts.py), so that a PNG looks the same everywhere. The
# others are about as wide or narrower.
LATIN_FAMILY = "'DejaVu Sans', 'Segoe UI', 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Style:
    """Style of a text; `angle` is in degrees clockwise, `language` selects Han shapes."""

    size: float = 12.0
    anchor: Anchor = "start"
    bold: bool = False
    fill: str = INK
    angle: float = 0.0
    language: Language = "zh-Hans"


def write(parent: ET.Element, at: Point, text: str, style: Style) -> ET.Element:
    """Add a `<text>` with its anchor at the point `at`."""
    place = {"x": px(at[0]), "y": px(at[1])}
    if style.angle:
        place = {"transform": f"translate({px(at[0])} {px(at[1])}) rotate({px(style.angle)})"}
    attributes = place | {"font-size": px(style.size), "fill": style.fill}
    if style.anchor != "start":
        attributes["text-anchor"] = style.anchor
    if style.bold:
        attributes["font-weight"] = "700"
    element = ET.SubElement(parent, "text", attributes)
    _fill(element, isolated(text), style.language)
    return element


def tooltip(parent: ET.Element, text: str) -> None:
    """Add a tooltip to an element."""
    title = ET.Element("title")
    title.text = text
    parent.insert(0, title)


def px(length: float) -> str:
    """Format a length for SVG.

    >>> px(12.0), px(1.25)
    ('12', '1.2')
    """
    return f"{length:.1f}".removesuffix(".0")


def _fill(element: ET.Element, text: str, language: Language) -> None:
    latest: ET.Element | None = None
    for asian, run in runs(text):
        if asian:
            names = {"font-family": font_family(language), "xml:lang": language}
            latest = ET.SubElement(element, "tspan", names)
            latest.text = run
        elif latest is None:
            element.text = run
        else:
            latest.tail = run
