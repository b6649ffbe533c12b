"""A Milvus: the server of Milvus Lite, or one that runs elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.support.running_service import reserved_port
from tests.support.servers.server_process import ServerProcess, accepts_connections

ELSEWHERE = "SEMBLANCE_TEST_MILVUS"  # address of a server, HOST:PORT, that the same tests use instead


class MilvusServer(ServerProcess):
    """Milvus Lite on loopback, in its own process, as it allows one for a folder of data.

    Its default is to listen on all addresses.
    """

    def __init__(self, folder: Path) -> None:
        self.port = reserved_port()
        self.url = f"milvus://127.0.0.1:{self.port}"
        self._data = folder / "data"
        options = ["server", "--host", "127.0.0.1", "--port", str(self.port), "--data-dir", str(self._data)]
        command = [sys.executable, "-m", "milvus_lite", *options]
        super().__init__(command, lambda: accepts_connections(self.port), folder)

    def save_state(self) -> Path:
        saved = self._folder / "saved"
        shutil.rmtree(saved, ignore_errors=True)
        shutil.copytree(self._data, saved)
        return saved

    def recover_state(self, saved: Path) -> None:
        shutil.rmtree(self._data)
        shutil.copytree(saved, self._data)

    def lose_state(self) -> None:
        shutil.rmtree(self._data)


def milvus_elsewhere() -> str | None:
    address = os.environ.get(ELSEWHERE)
    return address and f"milvus://{address}"
