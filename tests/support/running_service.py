"""Run the service as a process for the duration of a test or a benchmark."""

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

START_S = 300
SEMBLANCE = "semblance.service.cli.main"
# limits of time strike only in the tests that set them: a service on a busy machine may be slow in all of these
PATIENT = dict.fromkeys(
    ("header_timeout_s", "body_pause_s", "body_timeout_s", "model_wait_s", "ready_within_s", "ready_lag_s"), "600"
) | {"database_timeout_s": "60"}


class Service:
    """A service process that can be killed and restarted on the same port and store.

    Args:
        home: home folder of the service; its log is kept there, too.
        project: folder that holds `models/` and `service/`.
        module: module that is run with the argument `serve`.
        python: the interpreter, of an environment that may have fewer packages.
        environment: additional environment variables.
        settings: settings by name, such as `models="minilm"`.
    """

    def __init__(
        self,
        home: Path,
        project: Path = PROJECT,
        module: str = SEMBLANCE,
        environment: Mapping[str, str] | None = None,
        python: str = sys.executable,
        **settings: str,
    ) -> None:
        port = reserved_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = home / "log"
        self._project = project
        self._command = [python, "-m", module, "serve"]
        all_settings = {"home": str(home), "port": str(port), "drain_notice_s": "0"} | PATIENT | settings
        self._environment = {f"SEMBLANCE_{name.upper()}": value for name, value in all_settings.items()}
        self._environment.update(environment or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id, or None while the service is not running."""
        return None if self._process is None else self._process.pid

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None, "the service is not running"
        return self._process

    def start(self) -> str:
        """Start the service, wait until it is ready, and return its URL, which never changes.

        Raises:
            RuntimeError: it did not start; the message holds the end of its log.
        """
        environment = os.environ | self._environment
        with self.log.open("ab") as errors:
            self._process = subprocess.Popen(
                self._command, cwd=self._project, env=environment, stdout=subprocess.PIPE, stderr=errors
            )
        return wait_for_url(self._process, self.log)

    def kill(self) -> None:
        """Kill the process, as by `kill -9`."""
        self._end(subprocess.Popen.kill)

    def stop(self) -> None:
        """Ask the process to end, and wait for it."""
        self._end(subprocess.Popen.terminate)

    def pause(self) -> None:
        """Suspend the process: it accepts connections and bytes, and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume the process after `pause`."""
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
    """Run a service until the block ends, with an empty store unless `home` names one."""
    with TemporaryDirectory() as folder:
        service = Service(home or Path(folder), project, SEMBLANCE, None, **settings)
        try:
            service.start()
            yield service
        finally:
            service.stop()


@contextmanager
def running_service(project: Path = PROJECT, **settings: str) -> Iterator[str]:
    """Run a service with an empty store until the block ends, and return its URL."""
    with running_process(project, None, **settings) as service:
        yield service.url


def wait_for_url(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the service prints its URL, which it does when it is ready."""
    timeout = threading.Timer(START_S, process.kill)
    timeout.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if match := re.search(rb"http://\S+", line):
                return match.group().decode()
    finally:
        timeout.cancel()
    raise RuntimeError(f"the service did not start: {log.read_text()[-2000:]}")


def reserved_port() -> int:
    """A port of 127.0.0.1 for a server that gets its number, which can listen on it again after a crash.

    This process has it bound, without listening: the system gives it to no other socket that asks for any port, and to
    no outgoing connection, while a server may bind it, too, since both allow the address to be reused.
    """
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", 0))
    port = int(bound.getsockname()[1])
    bound.detach()  # it stays open until this process ends
    return port
