"""A server of somebody else's as a child process."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

START_S = 30
END_S = 30


class ServerProcess:
    """A process and its children, which live and die together.

    Args:
        command: what is run, in the foreground.
        answers: whether the server can be used now.
        folder: where it runs; its output is kept there in `log`.
        user: who runs it, if we are root; else we do.
        start_s: seconds that it may take until it answers.
    """

    def __init__(
        self,
        command: Sequence[str],
        answers: Callable[[], bool],
        folder: Path,
        user: str | None = None,
        start_s: float = START_S,
    ) -> None:
        self._command = command
        self._answers = answers
        self._folder = folder
        self._user = user if os.geteuid() == 0 else None
        self._start_s = start_s
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run it, and wait until it answers.

        Raises:
            RuntimeError: it did not start; the message holds the end of its log.
        """
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, stdout=log, stderr=log, user=self._user, group=self._user
            )
        give_up = time.monotonic() + self._start_s
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > give_up:
                said = (self._folder / "log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{self._command[0]} did not start: {said}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End all of it at once, as a crash of the machine would."""
        self.signal(signal.SIGKILL)
        self._wait()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end, and wait until it did."""
        if self._process is not None:
            self._process.send_signal(how)
        self._wait()

    def pause(self) -> None:
        """It still accepts connections and bytes, and answers nothing."""
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It answers again."""
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and all its children: they may have left its process group."""
        if self._process is not None:
            for pid in family(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def _wait(self) -> None:
        if self._process is not None:
            self._process.wait(END_S)
            self._process = None


def family(pid: int) -> list[int]:
    """A process, its children and theirs."""
    found = [pid]
    for each in found:  # it grows meanwhile
        with suppress(OSError):
            found += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
    return found
