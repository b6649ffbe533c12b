"""Commands that stop at a chosen call, so that a test can interrupt them at that place on a machine of any speed.

python -m tests.support.held_command MODULE:NAME CALLS FILE VERB ...

runs `semblance VERB ...` up to a call of a function, then creates FILE and waits until FILE is removed.
"""

from __future__ import annotations

import importlib
import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from semblance.service.cli.main import app
from tests.support.waiting import until


@dataclass(frozen=True)
class HeldCommand:
    """A command that has reached the chosen call.

    Attributes:
        process: the command; its standard error is a pipe.
        mark: file that exists while the command is held.
    """

    process: subprocess.Popen[str]
    mark: Path

    def release(self) -> None:
        self.mark.unlink()

    def interrupt(self, how: signal.Signals) -> str:
        """Send a signal, wait for the end, and return what was written to standard error."""
        self.process.send_signal(how)
        return self.process.communicate()[1]


@contextmanager
def held(place: str, *arguments: object, calls: int = 1) -> Iterator[HeldCommand]:
    """Run `semblance ARGUMENTS` up to a call, and kill it after the block.

    Args:
        place: of the function, such as `package.module:Class.method`.
        arguments: of the command.
        calls: number of the call that is held; earlier ones run as usual.
    """
    with TemporaryDirectory() as folder:
        mark = Path(folder) / "reached"
        options = [place, str(calls), str(mark), *map(str, arguments)]
        command = [sys.executable, "-m", "tests.support.held_command", *options]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                until(lambda: mark.exists() or process.poll() is not None, f"call {calls} of {place}")
                assert process.poll() is None, process.communicate()[1]
                yield HeldCommand(process, mark)
            finally:
                process.kill()


def main(place: str, calls: str, mark: str, *arguments: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell disables for background processes
    module, _, name = place.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, last = name.split(".")
    for each in outer:
        owner = getattr(owner, each)
    original, counter = getattr(owner, last), itertools.count(1)

    def wait_here(*given: Any, **named: Any) -> Any:
        if next(counter) == int(calls):
            Path(mark).touch()
            until(lambda: not Path(mark).exists(), "the end of this process, or its release")
        return original(*given, **named)

    setattr(owner, last, wait_here)
    app(list(arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
