"""A third-party server as a child process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import CEILING_S, PAUSE_S, until

_ENDED = ("", "Z", "X")  # states of a process that has ended


class ServerProcess:
    """A server process, controlled together with its children.

    Args:
        command: foreground command.
        answers: returns whether the server is ready.
        folder: working folder; output goes to `log` in it.
        user: user to run as if the current user is root.
        start_s: seconds after which a start counts as hanging.
    """

    def __init__(
        self,
        command: Sequence[str],
        answers: Callable[[], bool],
        folder: Path,
        user: str | None = None,
        start_s: float = CEILING_S,
    ) -> None:
        self._command = command
        self._answers = answers
        self._folder = folder
        self._user = user if os.geteuid() == 0 else None
        self._start_s = start_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id, or None before the first start."""
        return None if self._process is None else self._process.pid

    def start(self, *options: str) -> None:
        """Start the server, with further options, and wait until it is ready.

        Raises:
            RuntimeError: it did not start; the message holds the end of its log.
        """
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, *options], cwd=self._folder, stdout=log, stderr=log, user=self._user, group=self._user
            )
        deadline = time.monotonic() + self._start_s  # only ends a hang
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:  # a hang
                log_end = (self._folder / "log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{self._command[0]} did not start: {log_end}")
            time.sleep(PAUSE_S)  # between two looks

    def kill(self) -> None:
        """Kill the process and all its children, and wait until they have ended.

        It is stopped first, so that it starts no child that would live on and hold, for example, shared memory.
        """
        if self._process is not None:
            pid = self._process.pid
            self._process.send_signal(signal.SIGSTOP)
            until(lambda: _state(pid) in (*_ENDED, "T"), "a server that stops")
            children = process_tree(pid)[1:]
            self.signal(signal.SIGKILL)
            until(lambda: all(_state(child) in _ENDED for child in children), "children that end")
        self._wait()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
        self._wait()

    def pause(self) -> None:
        """Suspend the server: it accepts connections and bytes, and answers nothing."""
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        """Signal the process and all its children, which may be in other process groups."""
        if self._process is not None:
            for pid in process_tree(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def _wait(self) -> None:
        if self._process is not None:
            self._process.wait(CEILING_S)
            self._process = None


def accepts_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def process_tree(pid: int) -> list[int]:
    """The process and all its descendants, of which some may have ended since."""
    pids = [pid]
    for each in pids:  # grows during the loop
        with suppress(OSError):
            for children in Path(f"/proc/{each}/task").glob("*/children"):
                with suppress(OSError):
                    pids += map(int, children.read_text().split())
    return pids


def _state(pid: int) -> str:
    """The letter of a state in /proc: T if the process is stopped, Z if it has ended; or empty."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def command_line(pid: int) -> list[str]:
    """The command of a process; empty if it has ended."""
    return _entries(Path(f"/proc/{pid}/cmdline"))


def environment_of(pid: int) -> list[str]:
    """The variables with which a process began, as NAME=VALUE; empty if it has ended."""
    return _entries(Path(f"/proc/{pid}/environ"))


def _entries(file: Path) -> list[str]:
    try:
        return file.read_text(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []
