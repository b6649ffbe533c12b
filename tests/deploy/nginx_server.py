"""A real nginx with the configuration of deploy/nginx, before servers on other ports."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from benchmarks.running_service import free_port
from benchmarks.servers.server_process import ServerProcess

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx"


class Nginx:
    """nginx.conf as it is, and upstreams.conf as it is but for the two addresses in it.

    Args:
        folder: for its configuration and all that it writes.
        ports: of the two servers behind it, on loopback.
    """

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._prefix = folder / "prefix"
        configuration = folder / "configuration"
        self._prefix.mkdir(mode=0o777)
        configuration.mkdir()
        shutil.copy(CONFIGURATION / "nginx.conf", configuration)
        upstreams = (CONFIGURATION / "upstreams.conf").read_text()
        for named, port in zip((8001, 8002), ports, strict=True):
            upstreams = upstreams.replace(f"127.0.0.1:{named}", f"127.0.0.1:{port}")
        (configuration / "upstreams.conf").write_text(upstreams)
        listen = (CONFIGURATION / "listen.conf").read_text().replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        (configuration / "listen.conf").write_text(listen)
        command = ["nginx", "-p", str(self._prefix), "-c", str(configuration / "nginx.conf")]
        self._folder = folder
        self._process = ServerProcess([*command, "-g", "daemon off; user root;"], self._listens, folder)

    def start(self) -> None:
        """Run it, and wait until it answers."""
        self._process.start()

    def stop(self) -> None:
        """End it."""
        self._process.stop()

    @property
    def access_log(self) -> str:
        """A JSON object a line, for each request that is over."""
        return (self._prefix / "access.log").read_text()

    @property
    def written(self) -> bytes:
        """All that it wrote, to files and as messages."""
        files = [self._folder / "log", *(path for path in self._prefix.rglob("*") if path.is_file())]
        return b"\n".join(path.read_bytes() for path in files)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True
