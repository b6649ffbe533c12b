"""A service of our own for the time of a benchmark or a test."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.project import PROJECT

START_S = 120
SEMBLANCE = "semblance.service.cli.main"


class Service:
    """A service process that can be killed and started again, on the same port and with the same store.

    Args:
        home: the folder of its documents; its log is kept there too.
        project: the folder that holds `models/` and `service/`.
        module: what is run with the argument `serve`.
        environment: more variables that it gets.
        settings: settings by name, such as `models="minilm"`.
    """

    def __init__(
        self,
        home: Path,
        project: Path = PROJECT,
        module: str = SEMBLANCE,
        environment: Mapping[str, str] | None = None,
        **settings: str,
    ) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = home / "log"
        self._project = project
        self._command = [sys.executable, "-m", module, "serve"]
        given = {"home": str(home), "port": str(port), "drain_notice_s": "0", **settings}
        self._environment = {f"SEMBLANCE_{name.upper()}": value for name, value in given.items()}
        self._environment.update(environment or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Of the process that runs now; None if it was not started, or was ended."""
        return None if self._process is None else self._process.pid

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that runs now."""
        assert self._process is not None, "it was not started"
        return self._process

    def start(self) -> str:
        """Start it, and wait until it answers at the address that is returned: always the same.

        Raises:
            RuntimeError: it did not start; the message holds the end of its log.
        """
        environment = os.environ | self._environment
        with self.log.open("ab") as errors:
            self._process = subprocess.Popen(
                self._command, cwd=self._project, env=environment, stdout=subprocess.PIPE, stderr=errors
            )
        return address_of(self._process, self.log)

    def kill(self) -> None:
        """End it at once, as by `kill -9`."""
        self._end(subprocess.Popen.kill)

    def stop(self) -> None:
        """Ask it to end, and wait until it did."""
        self._end(subprocess.Popen.terminate)

    def pause(self) -> None:
        """It still accepts connections and bytes, and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It answers again."""
        self.process.send_signal(signal.SIGCONT)

    def _end(self, how: Callable[[subprocess.Popen[bytes]], None]) -> None:
        if self._process is None:
            return
        how(self._process)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None


@contextmanager
def running_process(project: Path = PROJECT, home: Path | None = None, **settings: str) -> Iterator[Service]:
    """A service that ends with the block, with an empty store unless `home` names one; otherwise as `Service`."""
    with TemporaryDirectory() as folder:
        service = Service(home or Path(folder), project, SEMBLANCE, None, **settings)
        try:
            service.start()
            yield service
        finally:
            service.stop()


@contextmanager
def running_service(project: Path = PROJECT, **settings: str) -> Iterator[str]:
    """The same with an empty store, for those who only need its address."""
    with running_process(project, None, **settings) as service:
        yield service.url


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


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
