"""The server's life: it says where it is, and on a signal it ends in order, within a limit."""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

import typer
import uvicorn

from semblance.service.process.shutdown import Draining
from semblance.service.process.tuning import settle

log = logging.getLogger(__name__)

TICK_S = 0.05


class Server(uvicorn.Server):
    """Ends like this after SIGTERM: from that moment every new request gets 503, and those under way are finished.

    The port stays open for `notice_s` (not after SIGINT: nobody balances loads over a terminal) and until they are
    done. What is not done shortly before `drain_s` is cut off, with 503 where no answer had begun. After `drain_s` the
    process is gone, whatever hangs. A second signal cuts off at once. The exit code is 0, or 1 if something hung or the
    device was lost.

    Args:
        config: uvicorn's.
        home: named when the server says that it answers.
        draining: set at the first signal.
        drain_s: from the signal to the end.
        notice_s: from the signal to the closing of the port, at least.
    """

    def __init__(self, config: uvicorn.Config, home: Path, draining: Draining, drain_s: float, notice_s: float) -> None:
        super().__init__(config)
        self._home = home
        self._draining = draining
        self._notice_s = notice_s
        self._drain_s = drain_s
        self._reserve_s = min(1.0, drain_s / 4)  # of it, for cutting off and for closing the store
        self._signalled = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where it is once it answers. A signal before that ends the process at once: nothing is under way yet."""
        starting = asyncio.ensure_future(super().startup(sockets))
        while not starting.done() and not self._draining.begun:
            await asyncio.wait({starting}, timeout=TICK_S)
        if not starting.done():
            leave(0)
        await starting
        settle()
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            typer.echo(f"Semblance answers on {address} (try it at {address}/docs); documents are kept in {self._home}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end. Unlike uvicorn's, it does not raise the signal again afterwards: to end was what was asked."""
        del frame
        if self._draining.begun:
            self.force_exit = True
            _end_after(self._reserve_s)
            return
        self._draining.begun = self.should_exit = True
        self._signalled = time.monotonic()
        if sig == signal.SIGINT:
            self._notice_s = 0.0
        _end_after(self._drain_s)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is under way, cut off what does not finish, and close."""
        notice_over = self._signalled + self._notice_s
        cut_off = self._signalled + self._drain_s - self._reserve_s
        under_way = set(self.server_state.tasks)  # those of new requests end by themselves
        await self._wait(lambda: time.monotonic() >= notice_over and all(task.done() for task in under_way), cut_off)
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._wait(self._all_gone, cut_off)
        await self._cut_off()
        await self.lifespan.shutdown()

    async def _cut_off(self) -> None:
        """End what is still under way. Each task answers 503 if it can."""
        tasks = list(self.server_state.tasks)
        if tasks:
            log.warning("%d requests were still under way and are cut off", len(tasks))
            for child in multiprocessing.active_children():  # it may be drawing what nobody waits for
                child.kill()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=self._reserve_s / 2)
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    def _all_gone(self) -> bool:
        return not self.server_state.connections and not self.server_state.tasks

    async def _wait(self, over: Callable[[], bool], until: float) -> None:
        while not over() and not self.force_exit and time.monotonic() < until:  # noqa: ASYNC110 - signals set flags
            await asyncio.sleep(TICK_S)


def leave(exit_code: int) -> NoReturn:
    """End the process now that all is closed: to take the interpreter and torch apart can take seconds."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(exit_code)


def _end_after(limit_s: float) -> None:
    """End the process then, with exit code 1, even if a thread of it hangs; the log shows where.

    Every write that was acknowledged is on disk. The timer is not a thread of Python: it needs no interpreter's lock.
    """
    faulthandler.dump_traceback_later(limit_s, exit=True)
