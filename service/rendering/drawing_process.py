"""A process apart that draws PNGs: the rasteriser holds the interpreter's lock, which would stop all other requests."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.png import render_png


class DrawingProcess:
    """Draws one picture at a time; started with the first, and anew should it die."""

    def __init__(self) -> None:
        self._pool = _new_pool()

    async def png(self, explanation: Explanation, caption: Caption) -> bytes:
        """The picture of `render_png`."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, render_png, explanation, caption)
        except BrokenProcessPool:
            self._pool = _new_pool()
            return await loop.run_in_executor(self._pool, render_png, explanation, caption)

    def close(self) -> None:
        """End the process."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _new_pool() -> ProcessPoolExecutor:
    # spawned, not forked: a copy of a process with running threads may hold locks that nobody will release
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_leave_interrupts_to_the_server)


def _leave_interrupts_to_the_server() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
