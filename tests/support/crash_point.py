"""Crash a process at a chosen step, for tests that crash at every step in turn."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

CRASHED = 9  # exit status of a crashed process
TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "shutil.rmtree")


class CrashPoint:
    """End the process at its n-th step, in any thread.

    Steps are every fsync, every opening, renaming and removal of a file in a folder, and every call of `step`.

    Args:
        folder: the observed folder.
        at: n.
        loses_unsynced: also truncate files without fsync to half, as after a power failure.
    """

    def __init__(self, folder: Path, at: int, *, loses_unsynced: bool = False) -> None:
        self._folder, self._left, self._loses_unsynced = folder, at, loses_unsynced
        self._synced = {file.stat().st_ino for file in folder.iterdir()}
        self._lock = threading.RLock()  # truncating files at the end triggers steps, too

    def install(self) -> None:
        sync = os.fsync

        def counted(descriptor: int) -> None:
            self.step()
            sync(descriptor)
            self._synced.add(os.fstat(descriptor).st_ino)

        os.fsync = counted  # type: ignore[assignment]
        sys.addaudithook(self._event)

    def step(self) -> None:
        """Count a step; the n-th does not return."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                if self._loses_unsynced:
                    self._lose_unsynced()
                os._exit(CRASHED)

    def _event(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name in TOUCHES and str(self._folder) in str(arguments[0]):
            self.step()

    def _lose_unsynced(self) -> None:
        for file in self._folder.iterdir():
            if file.stat().st_ino not in self._synced:
                os.truncate(file, file.stat().st_size // 2)


def run_in_fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child must not continue as the test runner
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
