"""Comparison of servers: which are compared, and with what."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from benchmarks.baselines.environments import PINS
from benchmarks.baselines.llama_cpp import PACKAGE
from benchmarks.baselines.servers import OUR_PRECISIONS, OURS, SERVERS, Server, number_type, our_precision
from benchmarks.speed import serving
from benchmarks.speed.serving import Mixed, compare, footprints_of, require_agreement
from tests.support.load_generator import LoadResult, LoadRun, get, send_all
from tests.support.service_monitor import resident_mb

RUN = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
HOLDER = "import time; held = bytearray(b'1' * 2**27); print('ready', flush=True); time.sleep(60)"  # until it is killed


class Still:
    """A process that is always there."""

    pid = os.getpid()

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


def servers(*names: str) -> list[Server]:
    return [Server(name, name, Still()) for name in names]


def runs(*per_second: int) -> list[LoadRun]:
    return [LoadRun([LoadResult([0.01] * rate, 1.0)], 0.1) for rate in per_second]


def answer_with(monkeypatch: pytest.MonkeyPatch, vectors: dict[str, list[float]]) -> None:
    def send(url: str, requests: Iterable[bytes]) -> list[bytes]:
        return [json.dumps({"data": [{"embedding": vectors[url]}]}).encode() for _ in requests]

    monkeypatch.setattr(serving, "send_all", send)


def test_the_name_of_each_server_tells_its_number_type() -> None:
    types = {name: number_type(name) for name in SERVERS}
    assert set(types.values()) <= {"float32", "bfloat16", "int8"}
    assert (types["vllm"], types["vllm-bfloat16"]) == ("float32", "bfloat16")
    assert (types["llama.cpp"], types["llama.cpp-int8"]) == ("float32", "int8")
    assert {name: types[name] for name in OUR_PRECISIONS} == {name: our_precision(name) for name in OUR_PRECISIONS}


def test_a_server_is_compared_with_ours_of_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    all_runs = {OURS: runs(80, 90, 100), "semblance-float32": runs(40, 50, 60), "vllm": runs(20, 30, 20)}
    kinds = {OURS: "bfloat16", "semblance-float32": "float32", "vllm": "float32"}
    monkeypatch.setattr(serving, "number_type", kinds.__getitem__)
    row = compare("vllm", (32, 4), all_runs, {"float32": [3200.0, 3200.0, 3200.0]})
    assert (row.times, row.like_times, row.in_process_share) == (4, 2, 32 * 20 / 3200)
    assert (row.number_type, row.requests_per_s, row.sentences_per_s) == ("float32", 20, 640)
    kinds["vllm"] = "int8"
    row = compare("vllm", (32, 4), all_runs, {"float32": [3200.0, 3200.0, 3200.0]})
    assert (row.like_times, row.in_process_share) == (None, None)


def test_hours_of_a_billion_tokens_follow_each_load() -> None:
    own = {OURS: runs(100)}
    rows = [compare(OURS, shape, own, {}) for shape in ((1, 32), (32, 4))]
    mixed = [Mixed(OURS, 10, 1.0, 1.0, 1.0, 1.0, 1.0, large_texts_per_s=50.0, clients_own_share=0.1)]
    [footprint] = footprints_of(servers(OURS), rows, mixed, (10.0, 100.0))
    assert footprint.sentences_h == pytest.approx(1e9 / (32 * 100 * 10) / 3600)
    assert footprint.texts_h == pytest.approx(1e9 / (50 * 100) / 3600)


def test_a_server_of_another_model_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = np.array([[1.0, 0.0]], np.float32)
    answer_with(monkeypatch, {"vllm": [1.0, 0.04], "llama.cpp-int8": [1.0, 0.06]})
    require_agreement(servers("vllm", "llama.cpp-int8"), ["a"], exact)
    answer_with(monkeypatch, {"vllm": [1.0, 0.06]})
    with pytest.raises(RuntimeError, match=r"vllm returns vectors of another model: cosine 0\.9982, below 0\.999"):
        require_agreement(servers("vllm"), ["a"], exact)


def test_peers_are_pinned_and_their_source_by_digest() -> None:
    for file in PINS.glob("*.txt"):
        lines = file.read_text("utf-8").splitlines()
        assert all("==" in line and "://" not in line for line in lines), file.name
    assert "--hash=sha256:" in PACKAGE.read_text("utf-8")


def test_the_load_goes_on_where_a_server_closes_connections() -> None:
    class Closing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Connection", "close")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Closing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        answers = send_all(f"http://127.0.0.1:{server.server_port}", [get("/")] * 3)
        server.shutdown()
    assert answers == [b"{}"] * 3


def test_memory_of_a_server_includes_that_of_grandchildren() -> None:
    command = [sys.executable, "-c", RUN, RUN, HOLDER]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert resident_mb(process.pid) > 128
        [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        [grandchild] = Path(f"/proc/{child}/task/{child}/children").read_text().split()
        subprocess.run(["kill", grandchild], check=True)
