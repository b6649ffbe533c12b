"""Render an explanation as a PNG, in a process of its own for servers."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import resvg_py

from semblance.models.explanation import Explanation
from semblance.service.errors import NotReady
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.fonts import font_files, missing_scripts
from semblance.service.rendering.svg.picture import render_svg
from semblance.service.threads import stop_if_left
from semblance.service.turns import draw

_ZOOM = 2.0


def render_png(explanation: Explanation, caption: Caption, *, system_fonts: bool = True) -> bytes:
    """Rasterize the picture of `render_svg` at twice its size; 1,920 px wide.

    Most scripts use fonts of pinned packages, the same on every machine. Others need a system font; without one, or
    with `system_fonts` False, they are drawn as boxes, and a line below the title says so. The rasterizer holds the GIL
    throughout: servers use a `DrawingProcess`.
    """
    picture = render_svg(explanation, caption)
    missing = missing_scripts(picture, lambda text: _rasterized(_sample(text), 1.0, system_fonts=system_fonts))
    if missing:
        picture = render_svg(explanation, replace(caption, warnings=(*caption.warnings, _without_font(missing))))
    return _rasterized(picture, _ZOOM, system_fonts=system_fonts)


def _rasterized(svg: str, zoom: float, *, system_fonts: bool) -> bytes:
    return resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=zoom,
        skip_system_fonts=not system_fonts,
        font_files=list(font_files()),
        sans_serif_family="DejaVu Sans",
    )


def _sample(text: str) -> str:
    """A picture of a text alone, of a fixed size."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="32">'
        f'<text x="4" y="24" font-size="16" font-family="DejaVu Sans">{text}</text></svg>'
    )


def _without_font(scripts: Sequence[str]) -> str:
    names = " and ".join(filter(None, (", ".join(scripts[:-1]), scripts[-1])))
    return (
        f"No font here has {names}, drawn as boxes. Install one for the system, such as Noto Sans, "
        "or open the SVG or the page, which use the fonts of the browser."
    )


class DrawingProcess:
    """Draws one picture at a time; started with the first picture, and restarted if it dies."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None  # its semaphores would leak if the start is given up
        self._lock = threading.Lock()
        self._closing = False

    async def png(self, explanation: Explanation, caption: Caption) -> bytes:
        """Run `render_png` in the process, in turns of the callers."""
        return await draw(self._run, explanation, caption)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closing = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, explanation: Explanation, caption: Caption) -> bytes:
        """In a drawing thread."""
        pool = self._started(None)
        try:
            return pool.submit(render_png, explanation, caption).result()
        except BrokenProcessPool:
            stop_if_left()
            return self._started(pool).submit(render_png, explanation, caption).result()

    def _started(self, broken: ProcessPoolExecutor | None) -> ProcessPoolExecutor:
        """The process, started if there is none but a broken one. Raises NotReady."""
        with self._lock:
            if self._closing:
                raise NotReady
            if self._pool is None or self._pool is broken:  # else another thread has restarted it
                self._pool = _new_pool()
            return self._pool


def _new_pool() -> ProcessPoolExecutor:
    # spawned: a fork of a process with threads may copy locks that are never released
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_ignore_interrupts)


def _ignore_interrupts() -> None:
    # Ctrl-C reaches the whole process group; the server ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
