"""How many modules does a request pass through?

    python -m benchmarks.quality.request_path

starts the service in this process, sends one request of each kind, and prints the number of modules of models/,
service/ and the vocabulary that it enters in any thread, of functions it calls there, and of their lines. `--list`
names the modules.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from urllib.request import Request, urlopen

from rich.table import Table

from semblance.service.cli.main import app
from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.running_service import reserved_port
from tests.support.wide_console import wide_console

SOURCES = (PROJECT / "semblance", PROJECT / "clients" / "python")
QUIET_S = 0.5  # after a response, for other threads to complete their part of the request
REQUESTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "one similarity": ("/similarity", {"pairs": [{"a": "A man plays.", "b": "Someone plays an instrument."}]}),
    "one search, rescored": ("/search", {"query": "my parcel never came", "k": 3, "measure": "rcmd"}),
    "one explanation": ("/explain?a=my+parcel&b=the+package&measure=rcmd&format=svg", None),
}


class Tracer:
    """Records the functions of the project that any thread calls while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.entered: defaultdict[Path, set[int]] = defaultdict(set)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call; this is a profile function for `sys.setprofile`."""
        if self.on and event == "call":
            file = Path(frame.f_code.co_filename)
            if any(map(file.is_relative_to, SOURCES)):
                self.entered[file].add(frame.f_code.co_firstlineno)

    def trace(self, url: str, body: dict[str, Any] | None) -> dict[Path, int]:
        """The files that a request enters, with the number of functions called in each."""
        content = None if body is None else json.dumps(body).encode()
        request = Request(url, content, {"content-type": "application/json"})  # noqa: S310 - our own address
        self.entered.clear()
        self.on = True
        with urlopen(request, timeout=60) as answer:  # noqa: S310 - our own address
            answer.read()
        time.sleep(QUIET_S)
        self.on = False
        return {file.relative_to(PROJECT): len(functions) for file, functions in self.entered.items()}


def trace_requests(tracer: Tracer, url: str, listed: bool) -> None:
    """Trace a request of each kind when the service is ready, then stop the service."""
    try:
        rows = []
        wait_until_ready(url)
        for name, (path, body) in REQUESTS.items():
            files = tracer.trace(url + path, body)
            lines = sum(len((PROJECT / file).read_text("utf-8").splitlines()) for file in files)
            rows.append({"request": name, "modules": len(files), "functions": sum(files.values()), "lines": lines})
            if listed:
                sys.stdout.write(f"{name}: {' '.join(sorted(map(str, files)))}\n")
        show(rows)
        save_results("request_path", rows)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def wait_until_ready(url: str) -> None:
    """Wait until the service is ready."""
    for _ in range(600):
        try:
            with urlopen(f"{url}/ready", timeout=5):  # noqa: S310 - our own address
                return
        except OSError:
            time.sleep(0.2)


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the table."""
    table = Table(title="Modules of the project that a request enters")
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*map(str, row.values()))
    wide_console().print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the modules")
    listed = parser.parse_args().list
    port, tracer = reserved_port(), Tracer()
    with TemporaryDirectory() as home:
        settings = {"HOME": home, "PORT": str(port), "SAMPLE": "1", "DRAIN_NOTICE_S": "0"}
        os.environ.update({f"SEMBLANCE_{name}": value for name, value in settings.items()})
        threading.Thread(target=trace_requests, args=(tracer, f"http://127.0.0.1:{port}", listed), daemon=True).start()
        threading.setprofile(tracer)  # for all threads that the service starts
        sys.setprofile(tracer)
        app(["serve"])


if __name__ == "__main__":
    main()
