"""A service of our own for the time of a benchmark or a test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_S = 120
PROJECT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Running:
    """A service, and where it writes its log."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def running_service(project: Path = PROJECT, **settings: str) -> Iterator[str]:
    """The address of a fresh service with an empty store, which ends with the block.

    Args:
        project: the folder that holds `models/` and `service/`.
        settings: settings by name, such as `models="minilm"`.

    Raises:
        RuntimeError: it did not start; the message holds the end of its log.
    """
    with running_process(project, **settings) as running:
        yield running.url


@contextmanager
def running_process(project: Path = PROJECT, **settings: str) -> Iterator[Running]:
    """The same with its process, for those who send it signals."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"home": folder, "port": "0", "drain_notice_s": "0", **settings}
        environment = os.environ | {f"SEMBLANCE_{name.upper()}": value for name, value in given.items()}
        log = Path(folder) / "log"
        command = [sys.executable, "-m", "service.cli.main", "serve"]
        with (
            log.open("wb") as errors,
            subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=errors) as process,
        ):
            try:
                yield Running(address_of(process, log), process, log)
            finally:
                process.terminate()


def address_of(process: subprocess.Popen[bytes], log: Path) -> str:
    """What the service prints once it answers."""
    late = threading.Timer(START_S, process.kill)
    late.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(rb"http://\S+", line):
                return found.group().decode()
    finally:
        late.cancel()
    raise RuntimeError(f"the service did not start: {log.read_text()[-2000:]}")
