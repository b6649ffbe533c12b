"""A real nginx as load balancer of the replicas."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.project import PROJECT
from tests.support.running_service import reserved_port
from tests.support.servers.server_process import ServerProcess, accepts_connections

DEPLOYED = PROJECT / "deploy" / "nginx"
FIRST, SECOND = "127.0.0.1:8001", "127.0.0.1:8002"  # the replicas in the deployed file


class NginxServer(ServerProcess):
    """`nginx` with the configuration of `deploy/nginx`, on its own port and with these backends.

    Args:
        backends: addresses of the replicas.
        changes: texts of the configuration, each of which is there once, and what is in their place.
    """

    def __init__(self, backends: Sequence[str], changes: Mapping[str, str] | None = None) -> None:
        self.port = reserved_port()
        self.url = f"http://127.0.0.1:{self.port}"
        path = Path(tempfile.mkdtemp(prefix="nginx-"))  # its user may not enter folders of root
        path.chmod(0o755)
        configuration = (DEPLOYED / "nginx.conf").read_text("utf-8")
        for before, after in (changes or {}).items():
            assert configuration.count(before) == 1, before
            configuration = configuration.replace(before, after)
        (path / "nginx.conf").write_text(configuration, "utf-8")
        (path / "listen.conf").write_text(f"listen 127.0.0.1:{self.port};\naccess_log access.log semblance;\n")
        (path / "upstreams.conf").write_text(
            upstreams((DEPLOYED / "upstreams.conf").read_text("utf-8"), backends), "utf-8"
        )
        folder = str(path)
        command = ["nginx", "-p", folder, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/log", "-g", "daemon off;"]
        super().__init__(command, lambda: accepts_connections(self.port), path)

    @property
    def access_log(self) -> str:
        """A JSON object per line, one for each completed request."""
        return (self._folder / "access.log").read_text()

    @property
    def all_output(self) -> bytes:
        return b"\n".join(path.read_bytes() for path in self._folder.rglob("*") if path.is_file())

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self._folder)


def upstreams(deployed: str, backends: Sequence[str]) -> str:
    r"""Replace the backends: repeat the line of the first, drop that of the second.

    >>> print(upstreams("server 127.0.0.1:8001 backup;\nserver 127.0.0.1:8002 backup;\n", ["a:1", "b:2"]), end="")
    server a:1 backup;
    server b:2 backup;
    """
    lines = [line for line in deployed.splitlines() if not re.match(rf"\s*server {SECOND}\b", line)]
    groups = [[line.replace(FIRST, each) for each in backends] if FIRST in line else [line] for line in lines]
    return "".join(f"{line}\n" for group in groups for line in group)
