"""Library, client, commands and service run without what only POSIX systems have: on Linux, with it taken away."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx2
import pytest
from packaging.requirements import Requirement

from tests.support.project import PROJECT
from tests.support.running_service import Service
from tests.support.waiting import CEILING_S

KEY = "windows-key"
TEXTS = ("my parcel never came", "the package did not arrive")
PROGRAM = f"""
from tests.support.as_windows import become_windows
become_windows()
from semblance_client import Client
from semblance import similarity
from semblance.service.cli.main import app
Client("http://127.0.0.1:9").close()
print(similarity{TEXTS})
for words in (["--help"], ["serve", "--help"]):
    app(words, standalone_mode=False)
"""


@pytest.mark.parametrize("platform", ["win32", "darwin", "linux"])
def test_uvloop_is_required_where_it_can_be_installed(platform: str) -> None:
    listed = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    parsed = [Requirement(each) for each in listed]
    needed = {each.name for each in parsed if each.marker is None or each.marker.evaluate({"sys_platform": platform})}
    assert {each.name for each in parsed} - needed == ({"uvloop"} if platform == "win32" else set())


@pytest.mark.slow
def test_library_client_and_commands_run_without_posix() -> None:
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=CEILING_S, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert float(ran.stdout.splitlines()[0]) > 0.5
    assert "Serve the HTTP API until interrupted." in ran.stdout


@pytest.mark.slow
def test_the_service_stores_and_answers_without_posix(tmp_path: Path) -> None:
    keys = tmp_path / "keys"  # its file is read again at SIGHUP, which Windows lacks
    keys.write_text(f"ci:read+write+admin:{hashlib.sha256(KEY.encode()).hexdigest()}\n")
    service = Service(tmp_path, module="tests.support.as_windows", api_keys_file=str(keys), port="0")
    try:
        url = service.start()
        with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {KEY}"}, timeout=CEILING_S) as client:
            compared = client.post("/similarity", json={"pairs": [dict(zip("ab", TEXTS, strict=True))]})
            assert compared.json()["scores"][0] > 0.5
            documents = {"documents": [{"id": "1", "text": TEXTS[0]}]}
            assert client.put("/collections/faq", json={}).is_success
            stored = client.post("/collections/faq/documents", json=documents)
            assert stored.status_code == 200, stored.text
        service.process.terminate()
        assert service.process.wait(CEILING_S) == 0, service.log.read_text()
    finally:
        service.kill()
    assert list(tmp_path.glob("indexes/*/manifest.json")), "the snapshot is written at the end"
    assert not any(f'"level": "{level}"' in service.log.read_text() for level in ("warning", "error"))
