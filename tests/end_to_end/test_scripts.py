"""The commands of the README for new users."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from tests.support.project import PROJECT
from tests.support.running_service import running_process

pytestmark = pytest.mark.timed


def test_serve_prints_its_address_and_stops_on_sigterm(tmp_path: Path) -> None:
    environment = os.environ | {"SEMBLANCE_HOME": str(tmp_path)}
    command = ["scripts/serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        found = re.search(r"Semblance answers on (http://127\.0\.0\.1:\d+) ", line)
        assert found is not None, line
        with httpx2.Client(base_url=found[1], timeout=60) as http:
            assert http.get("/ready").status_code == 200
            assert http.get("/collections/default").json()["count"] == 200
            hit = http.post("/search", json={"query": "my parcel never came", "k": 1}).json()["results"][0]["hits"][0]
            assert hit["metadata"]["category"] == "shipping"
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        assert time.monotonic() - began < 15
    assert (tmp_path / "documents.sqlite").exists()


def test_a_second_server_on_the_same_store_or_port_exits(tmp_path: Path) -> None:
    with running_process(home=tmp_path) as first:
        port = first.url.rpartition(":")[2]
        for home, other_port, message in ((tmp_path / "other", port, "--port"), (tmp_path, "0", "--home")):
            command = [
                sys.executable,
                "-m",
                "semblance.service.cli.main",
                "serve",
                "--home",
                str(home),
                "--port",
                other_port,
            ]
            second = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=60)
            assert second.returncode == 1
            assert message in second.stderr
            assert "Traceback" not in second.stderr
