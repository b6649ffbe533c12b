"""A real nginx in front of the replicas."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import httpx2

from benchmarks.running_service import free_port
from benchmarks.servers.server_process import ServerProcess

CONFIGURATION = """\
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {folder}/bodies;
  proxy_temp_path {folder}/answers;
  client_max_body_size 8m;
  upstream semblance {{
{servers}
    keepalive 32;
  }}
  server {{
    listen 127.0.0.1:{port};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_connect_timeout 1s;
    proxy_read_timeout 60s;
    proxy_next_upstream_timeout 30s;
    proxy_next_upstream error timeout http_502 http_503;
    location / {{ proxy_pass http://semblance; }}
    location ~ ^/(similarity|search|explain|v1/embeddings)$ {{
      proxy_next_upstream error timeout http_502 http_503 non_idempotent;
      proxy_read_timeout 5s;
      proxy_pass http://semblance;
    }}
  }}
}}
"""


class NginxServer:
    """`nginx` in a folder of its own, with the addresses of what stands behind it."""

    def __init__(self, behind: Sequence[str]) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = Path(tempfile.mkdtemp(prefix="nginx-"))  # not below a folder that only root may enter
        self._folder.chmod(0o755)
        servers = "\n".join(f"    server {address} max_fails=1 fail_timeout=2s;" for address in behind)
        file = self._folder / "nginx.conf"
        file.write_text(CONFIGURATION.format(folder=self._folder, port=self.port, servers=servers))
        command = ["nginx", "-p", str(self._folder), "-e", str(self._folder / "error.log"), "-c", str(file)]
        self._process = ServerProcess(command, self._answers, self._folder)

    def start(self) -> None:
        """Run it, and wait until it answers."""
        self._process.start()

    def remove(self) -> None:
        """End it, and remove its folder."""
        self._process.kill()
        shutil.rmtree(self._folder)

    def _answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/live", timeout=2).status_code > 0
        except httpx2.TransportError:
            return False
