"""A real nginx as load balancer of the replicas."""

from __future__ import annotations

import re
import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.project import PROJECT
from tests.support.running_service import reserved_port
from tests.support.servers.server_process import ServerProcess

DEPLOYED = PROJECT / "deploy" / "nginx"
FIRST, SECOND = "127.0.0.1:8001", "127.0.0.1:8002"  # the replicas in the deployed file


class NginxServer:
    """`nginx` with the configuration of `deploy/nginx`, on its own port and with these backends."""

    def __init__(self, backends: Sequence[str]) -> None:
        self.port = reserved_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = Path(tempfile.mkdtemp(prefix="nginx-"))  # its user may not enter folders of root
        self._folder.chmod(0o755)
        shutil.copy(DEPLOYED / "nginx.conf", self._folder)
        (self._folder / "listen.conf").write_text(f"listen 127.0.0.1:{self.port};\naccess_log access.log semblance;\n")
        (self._folder / "upstreams.conf").write_text(
            upstreams((DEPLOYED / "upstreams.conf").read_text("utf-8"), backends), "utf-8"
        )
        folder = str(self._folder)
        command = ["nginx", "-p", folder, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/log", "-g", "daemon off;"]
        self._process = ServerProcess(command, self._answers, self._folder)

    def start(self) -> None:
        """Start nginx, and wait until it accepts connections."""
        self._process.start()

    def stop(self) -> None:
        """Ask nginx to end, and wait for it."""
        self._process.stop()

    @property
    def access_log(self) -> str:
        """A JSON object per line, one for each completed request."""
        return (self._folder / "access.log").read_text()

    @property
    def all_output(self) -> bytes:
        """Everything that nginx wrote, to files and as messages."""
        return b"\n".join(path.read_bytes() for path in self._folder.rglob("*") if path.is_file())

    def remove(self) -> None:
        """Kill nginx and remove its folder."""
        self._process.kill()
        shutil.rmtree(self._folder)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


def upstreams(deployed: str, backends: Sequence[str]) -> str:
    r"""Replace the backends: repeat the line of the first, drop that of the second.

    >>> print(upstreams("server 127.0.0.1:8001 backup;\nserver 127.0.0.1:8002 backup;\n", ["a:1", "b:2"]), end="")
    server a:1 backup;
    server b:2 backup;
    """
    lines = [line for line in deployed.splitlines() if not re.match(rf"\s*server {SECOND}\b", line)]
    groups = [[line.replace(FIRST, each) for each in backends] if FIRST in line else [line] for line in lines]
    return "".join(f"{line}\n" for group in groups for line in group)
