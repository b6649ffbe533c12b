"""Dying at a chosen step, for programs that do one thing over and over and die one step further each time."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEAD = 9  # the exit status of a process that met its death
TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "shutil.rmtree")


class Death:
    """Ends the process at its n-th step, in whatever thread.

    Steps are every fsync, every opening, rename and removal of a file in a folder, and whatever else calls `step`.

    Args:
        folder: where files are touched.
        at: n.
        loses_unsynced: whether it takes with it what was not yet brought to disk: such files are cut in half.
    """

    def __init__(self, folder: Path, at: int, *, loses_unsynced: bool = False) -> None:
        self._folder, self._left, self._loses_unsynced = folder, at, loses_unsynced
        self._synced = {file.stat().st_ino for file in folder.iterdir()}
        self._lock = threading.RLock()  # what it does at the end is a step, too

    def take_over(self) -> None:
        """Count the steps of this process from now on."""
        sync = os.fsync

        def counted(descriptor: int) -> None:
            self.step()
            sync(descriptor)
            self._synced.add(os.fstat(descriptor).st_ino)

        os.fsync = counted  # type: ignore[assignment]
        sys.addaudithook(self._event)

    def step(self) -> None:
        """One more step; the n-th does not return."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                if self._loses_unsynced:
                    self._lose_unsynced()
                os._exit(DEAD)

    def _event(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name in TOUCHES and str(self._folder) in str(arguments[0]):
            self.step()

    def _lose_unsynced(self) -> None:
        for file in self._folder.iterdir():
            if file.stat().st_ino not in self._synced:
                os.truncate(file, file.stat().st_size // 2)


def in_a_process(work: Callable[[], None]) -> int:
    """The exit status of `work` in a copy of this process."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the copy must not go on as if it were the original
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
