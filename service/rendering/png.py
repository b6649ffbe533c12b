"""An explanation as a heat map in PNG."""

from __future__ import annotations

import resvg_py

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.fonts import font_files
from semblance.service.rendering.svg import render_svg

_ZOOM = 2.0


def render_png(explanation: Explanation, caption: Caption, *, system_fonts: bool = True) -> bytes:
    """The picture of `render_svg`, rasterised at twice its size; at most 3,000 px a side.

    Latin, Greek, Cyrillic, Arabic, Hebrew, Chinese, Japanese and Korean are set in fonts of pinned packages, the same
    on every machine. Other scripts, and most emoji, need a font of the system; they come out as boxes where it has
    none, or where `system_fonts` is False. The interpreter's lock is held throughout: servers draw in a process apart.
    """
    return resvg_py.svg_to_bytes(
        svg_string=render_svg(explanation, caption),
        zoom=_ZOOM,
        skip_system_fonts=not system_fonts,
        font_files=list(font_files()),
        sans_serif_family="DejaVu Sans",
    )
