"""The commands that the README gives a new user."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2

from benchmarks.running_service import address_of

ROOT = Path(__file__).parents[2]


def test_serve_prints_its_address_answers_and_ends_when_told(tmp_path: Path) -> None:
    environment = os.environ | {"SEMBLANCE_HOME": str(tmp_path)}
    command = ["scripts/serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
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


def test_what_was_stored_is_there_after_a_kill(tmp_path: Path) -> None:
    """One SIGKILL right after an acknowledged write; the next start finds it again, without the sample coming back."""
    environment = os.environ | {"SEMBLANCE_HOME": str(tmp_path), "SEMBLANCE_PORT": "0"}
    command = [sys.executable, "-m", "service.cli.main", "serve"]
    versions = []
    for start in range(2):
        log = tmp_path / f"log{start}"
        with (
            log.open("wb") as errors,
            subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors) as process,
        ):
            with httpx2.Client(base_url=address_of(process, log), timeout=60) as http:
                if start == 0:
                    http.put("/collections/kept").raise_for_status()
                    body = {"documents": [{"id": str(i), "text": f"Document {i} about rabbits."} for i in range(30)]}
                    versions.append(http.post("/collections/kept/documents", json=body).json()["version"])
                else:
                    found = http.post("/search", json={"query": "rabbits", "collection": "kept", "k": 50}).json()
                    versions.append(found["version"])
                    assert len(found["results"][0]["hits"]) == 30
            process.kill()
    assert versions[0] == versions[1]


def test_a_request_that_outlasts_the_time_to_finish_is_told_so(tmp_path: Path) -> None:
    environment = os.environ | {"SEMBLANCE_HOME": str(tmp_path), "SEMBLANCE_PORT": "0", "SEMBLANCE_DRAIN_S": "1"}
    command = [sys.executable, "-m", "service.cli.main", "serve"]
    with (
        (tmp_path / "log").open("wb") as errors,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors) as process,
        ThreadPoolExecutor(1) as pool,
    ):
        url = address_of(process, tmp_path / "log")
        long = [{"a": f"{i} " + "long " * 250, "b": f"{i} " + "text " * 250} for i in range(500)]
        asking = pool.submit(httpx2.post, f"{url}/similarity", json={"pairs": long}, timeout=60)
        time.sleep(1.5)
        process.terminate()
        answer = asking.result()
        process.wait(timeout=30)
    assert answer.status_code == 503
    assert answer.json()["code"] == "not_ready"
    assert answer.headers["retry-after"]


def test_a_second_server_on_the_same_store_or_port_is_refused_at_once(tmp_path: Path) -> None:
    environment = os.environ | {"SEMBLANCE_HOME": str(tmp_path), "SEMBLANCE_PORT": "0"}
    command = [sys.executable, "-m", "service.cli.main", "serve"]
    with (
        (tmp_path / "log").open("wb") as errors,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        port = address_of(process, tmp_path / "log").rpartition(":")[2]
        for options, said in ((["--home", str(tmp_path / "b"), "--port", port], "--port"), (["--port", "0"], "--home")):
            second = subprocess.run(
                [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            assert second.returncode == 1
            assert said in second.stderr
            assert "Traceback" not in second.stderr
        process.terminate()
