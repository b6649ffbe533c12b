"""The server process: startup, its limits, and graceful shutdown within a deadline."""

from __future__ import annotations

import asyncio
import ctypes
import faulthandler
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import NoReturn

import uvicorn

from semblance.service.process.readiness import Draining
from semblance.service.threads import SWITCH_S

if sys.platform != "win32":
    import resource

log = logging.getLogger(__name__)

POLL_S = 0.05
YOUNG_OBJECTS = 10_000  # after which the garbage collector runs; at Python's 700, it took a twentieth of a request
TRIM_INTERVAL_S = 10.0
MALLOC = {  # glibc's malloc.h; freed memory stays until it is trimmed, as each page costs a fault to get again
    -3: 32 << 20,  # M_MMAP_THRESHOLD
    -1: 512 << 20,  # M_TRIM_THRESHOLD
}
OTHER_FILES = 256  # open files beside the connections: the store, the models, the log


class Server(uvicorn.Server):
    """Server with graceful shutdown: after SIGTERM running requests finish.

    For `notice_s` new ones are served, too, each as the last one of its connection, while /ready fails (after SIGINT:
    0, as no load balancer watches a terminal). Then the port closes: a load balancer whose connection is refused tries
    any request at another replica, as nothing was sent. Shortly before `drain_s` the remaining requests are cut off,
    with 503 where no response had begun. After `drain_s` the process exits even if a thread hangs. A second signal cuts
    off at once. The exit code is 0, or 1 if a thread hung or the device was lost.

    Args:
        config: configuration of uvicorn.
        draining: set at the first signal.
        drain_s: longest time from the signal to the exit.
        notice_s: time from the signal to closing the port.
        on_started: called with the host and port when the service is reachable.
        on_hangup: called in a thread at each SIGHUP, one after the other; without it, SIGHUP does as SIGTERM.
            Windows has no such signal.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        draining: Draining,
        drain_s: float,
        notice_s: float,
        on_started: Callable[[str, int], None],
        on_hangup: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self._draining = draining
        self._drain_s = drain_s
        self._notice_s = notice_s
        self._on_started = on_started
        self._on_hangup = on_hangup
        self._hangups = ThreadPoolExecutor(1, "hangup")  # files may hang, and must not stop the event loop
        self._reserve_s = min(1.0, drain_s / 4)  # of it, for cutting off requests and closing the store
        self._signalled = 0.0
        self._signal = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start; a signal before the service is reachable ends the process at once."""
        if sys.platform != "win32":
            loop = asyncio.get_running_loop()
            if self._on_hangup is not None:
                loop.add_signal_handler(signal.SIGHUP, self._hangups.submit, self._on_hangup)
            elif signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not started by nohup
                loop.add_signal_handler(signal.SIGHUP, self.handle_exit, signal.SIGHUP, None)
        starting = asyncio.ensure_future(super().startup(sockets))
        while not starting.done() and not self._draining.begun:
            await asyncio.wait({starting}, timeout=POLL_S)
        if not starting.done():
            log.info("%s: exiting before the service has started", self._signal)
            leave(0)
        await starting
        tune_interpreter()
        if self.started and sockets:
            self._on_started(*sockets[0].getsockname()[:2])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the shutdown; unlike uvicorn, do not raise the signal again afterwards.

        Nothing is logged here: the signal may have interrupted the writing of a line.
        """
        del frame
        if self._draining.begun:
            self.force_exit = True
            _exit_after(self._reserve_s)
            return
        self._draining.begun = self.should_exit = True
        self._signalled = time.monotonic()
        self._signal = signal.Signals(sig).name
        if sig == signal.SIGINT or self._draining.failed:
            self._notice_s = 0.0
        self._draining.refuses = not self._notice_s
        _exit_after(self._drain_s)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish running requests, cut off those that do not finish in time, and close."""
        notice_over = self._signalled + self._notice_s
        cut_off = self._signalled + self._drain_s - self._reserve_s
        running = len(self.server_state.tasks)
        log.info("%s: draining for at most %g s; requests running: %d", self._signal, self._drain_s, running)
        await self._wait(lambda: time.monotonic() >= notice_over, cut_off)
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        await asyncio.sleep(POLL_S)  # what the last connections have sent is read meanwhile
        self._draining.refuses = True
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._wait(self._all_closed, cut_off)
        unfinished = await self._cut_off()
        spent_s = time.monotonic() - self._signalled
        log.info("drained in %.1f s; requests cut off: %d", spent_s, unfinished)
        await self.lifespan.shutdown()

    async def _cut_off(self) -> int:
        """Cancel the requests that are still running, each of which sends 503 if it can.

        Returns:
            Their number.
        """
        tasks = list(self.server_state.tasks)
        if tasks:
            reason = "a second signal came" if self.force_exit else "the time to drain is over"
            log.warning("%s; requests still running, which are cut off: %d", reason, len(tasks))
            for child in multiprocessing.active_children():  # it may be drawing for a request that is cut off
                child.kill()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=self._reserve_s / 2)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        return len(tasks)

    def _all_closed(self) -> bool:
        return not self.server_state.connections and not self.server_state.tasks

    async def _wait(self, condition: Callable[[], bool], until: float) -> None:
        while not condition() and not self.force_exit and time.monotonic() < until:  # noqa: ASYNC110 - signals set flags
            await asyncio.sleep(POLL_S)


def leave(exit_code: int) -> NoReturn:
    """Exit at once after everything is closed: tearing down torch can take seconds."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(exit_code)


def raise_file_limit(connections: int) -> str | None:
    """Let this process open as many files as its connections need.

    Returns:
        A warning for the operator if the hard limit does not allow it.
    """
    if sys.platform == "win32":
        return None  # sockets do not count among open files there
    needed = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reachable = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < reachable:
        resource.setrlimit(resource.RLIMIT_NOFILE, (reachable, hard))
    if reachable == needed:
        return None
    return (
        f"SEMBLANCE_MAX_CONNECTIONS={connections} needs {needed} open files, and this process may open only {hard}: "
        "raise the limit (ulimit -n) or lower the setting"
    )


def tune_interpreter() -> None:
    """Keep Python's housekeeping away from requests; call it once, when everything is loaded.

    Loaded objects live to the end, so the garbage collector need not visit half a million of them again, which takes
    0.2 s each time. Threads switch five times as often as by default: with six of them computing, the event loop waits
    for six turns before it can respond. Freed memory is returned by a thread, every few seconds, and not by each call.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    sys.setswitchinterval(SWITCH_S)
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        for option, value in MALLOC.items():
            libc.mallopt(option, value)
        threading.Thread(target=_trim, args=(libc,), name="upkeep", daemon=True).start()


def _trim(libc: ctypes.CDLL) -> None:
    """Return memory that glibc keeps in the gaps that freed tensors leave between live results.

    A batch rarely finds a gap that fits, so that without trimming memory doubles within minutes. Serving large blocks
    by mmap instead would cost a quarter of the throughput, in page faults.
    """
    while True:
        time.sleep(TRIM_INTERVAL_S)
        libc.malloc_trim(0)


def _exit_after(limit_s: float) -> None:
    """Exit with code 1 after `limit_s`, even if a thread hangs; the log shows where.

    Every acknowledged write is on disk. The timer is a thread of C: it does not need the interpreter's lock.
    """
    faulthandler.dump_traceback_later(limit_s, exit=True)
