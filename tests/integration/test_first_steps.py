"""The first minute of a newcomer: what `semblance serve` prints, and that what it proposes works."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import pytest

from semblance.service.cli.toolbox.http_service import first_steps
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, START_S, running_process
from tests.support.servers.word_models import write_model

KEY = "smb_first"


@contextmanager
def on_a_terminal(home: Path, **settings: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """`semblance serve` with word vectors on a terminal: its side of the terminal, and the process."""
    model = write_model(home / "words.npz", seed=0)
    values = {"home": str(home), "models": f"words={model}", "port": "0", "drain_notice_s": "0", **settings}
    environment = os.environ | {f"SEMBLANCE_{name.upper()}": value for name, value in values.items()}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", SEMBLANCE, "serve"]
    process = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    timeout = threading.Timer(START_S, process.kill)  # a hang ends
    timeout.start()
    try:
        yield ours, process
    finally:
        timeout.cancel()
        process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, end: str) -> str:
    """What is printed up to `end`, or up to the exit of the process."""
    text = b""
    with suppress(OSError):  # EIO: the process has ended
        while end.encode() not in text:
            text += os.read(terminal, 65_536)
    return text.decode().replace("\r\n", "\n")


def test_a_terminal_shows_plain_lines_and_what_to_try(tmp_path: Path) -> None:
    with on_a_terminal(tmp_path) as (terminal, process):
        text = read_until(terminal, "Ctrl-C ends the service.")
        process.send_signal(signal.SIGINT)
        end = read_until(terminal, "exiting with code 0")
    log, greeting, steps = text.partition("Semblance answers on ")
    assert greeting
    messages = re.sub(r"^\d\d:\d\d:\d\d ", "", re.sub(r"\d+\.\d s", "0.0 s", log), flags=re.MULTILINE)
    assert messages.splitlines() == [
        f"Semblance {version('semblance-server')} is starting; documents are kept in {tmp_path}",
        "loading model words into memory",
        "loaded model words in 0.0 s",
        f"created the tables in {tmp_path}/documents.sqlite",
    ]
    address = re.match(r"http://127\.0\.0\.1:\d+", steps)
    assert address
    assert f"documents are kept in {tmp_path}\n" in steps
    assert first_steps(address[0], keys=False, sample=False) in steps
    assert "SIGINT: draining for at most 20 s; requests running: 0" in end


def test_without_a_terminal_one_line_is_printed(tmp_path: Path) -> None:
    model = write_model(tmp_path / "words.npz", seed=0)
    with running_process(home=tmp_path, models=f"words={model}") as service:
        service.process.send_signal(signal.SIGTERM)
        assert service.process.stdout is not None
        assert service.process.stdout.read() == b"", "nothing after the line with the address"
        loggers = {json.loads(line)["logger"] for line in service.log.read_text().splitlines()}
    assert {logger for logger in loggers if not logger.startswith("semblance.service.")} == set()


def test_with_keys_the_command_sends_one(tmp_path: Path) -> None:
    model = write_model(tmp_path / "words.npz", seed=0)
    entry = f"first:read:{hashlib.sha256(KEY.encode()).hexdigest()}"
    with running_process(models=f"words={model}", api_keys=entry) as service:
        [command] = re.findall(r"^  (.*)$", first_steps(service.url, keys=True, sample=False), re.MULTILINE)
        assert run(command, SEMBLANCE_CLIENT_KEY="")["code"] == "unauthorized"
        assert run(command, SEMBLANCE_CLIENT_KEY=KEY).get("code") != "unauthorized"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_of_every_interface_can_be_opened(tmp_path: Path, host: str) -> None:
    with on_a_terminal(tmp_path, host=host, allow_anonymous="1") as (terminal, _):
        text = read_until(terminal, "Ctrl-C ends the service.")
        found = re.search(r"Semblance answers on (http://\S+) and every other address \(", text)
        assert found, text
        assert httpx2.get(f"{found[1]}/ready", timeout=600).status_code == 200


def run(command: str, **environment: str) -> Any:
    ran = subprocess.run(
        ["bash", "-c", command], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


def test_the_proposed_commands_work(url: str) -> None:
    page, command = re.findall(r"^  (.*)$", first_steps(url, keys=False, sample=True), re.MULTILINE)
    opened = httpx2.get(page, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}, timeout=600)
    assert (opened.status_code, opened.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "package" in opened.text
    best, *_ = run(command)["results"][0]["hits"]
    assert best["metadata"]["category"] == "shipping"
    _, command = re.findall(r"^  (.*)$", first_steps(url, keys=False, sample=False), re.MULTILINE)
    assert len(run(command)["scores"]) == 1
