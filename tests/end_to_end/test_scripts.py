"""The commands of the README for new users."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, running_process


def test_a_second_server_on_the_same_store_or_port_exits(tmp_path: Path) -> None:
    with running_process(home=tmp_path) as first:
        port = first.url.rpartition(":")[2]
        for home, other_port, message in ((tmp_path / "other", port, "--port"), (tmp_path, "0", "--home")):
            command = [sys.executable, "-m", SEMBLANCE, "serve", "--home", str(home), "--port", other_port]
            second = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
            assert second.returncode == 1
            assert message in second.stderr
            assert "Traceback" not in second.stderr


NOTING = '#!/bin/sh\necho "$@" >> "$0.log"\n'  # a program that notes with which arguments it is called
SETTINGS = "global.find-links='/wheels /more'\n:env:.index-url='file:///index'"  # of pip
CONFIGURED = f'case "$*" in *"config list") echo "{SETTINGS}";; esac\n'


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "python", CONFIGURED)
    return tmp_path


def program(file: Path, script: str) -> None:
    file.write_text(NOTING + script)
    file.chmod(0o755)


def install(venv: Path, *extras: str) -> tuple[int, str, list[str]]:
    """Run scripts/install: its status and messages, and what it has had Python do, now or before."""
    environment = {"PATH": "/usr/bin:/bin", "SEMBLANCE_VENV": str(venv)}
    command = ["scripts/install", *extras]
    ran = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    log = venv / "bin" / "python.log"
    return ran.returncode, ran.stderr, log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize(
    ("extras", "installed"),
    [
        ((), "."),
        (("models",), ".[models]"),
        (("lab", "dev"), ".[dev] --editable lab"),
        (("lab,dev",), ".[dev] --editable lab"),
        (("models,", " dev ", "ray,milvus"), ".[models,dev,ray,milvus]"),
        (("multilingual", "dev"), ".[dev]"),
    ],
)
def test_extras_are_installed_once(venv: Path, extras: tuple[str, ...], installed: str) -> None:
    status, _, called = install(venv, *extras)
    assert status == 0
    assert called[-1].endswith(f"--editable assets --editable clients/python --editable {installed}")
    assert install(venv, *extras) == (0, "", called)
    assert len(install(venv, "bench")[2]) == 2 * len(called), "what is not installed yet"
    for stamp in venv.glob("installed*"):
        stamp.write_text("the digest of other requirements")
    assert len(install(venv, *extras)[2]) == 3 * len(called)


@pytest.mark.parametrize("extras", [("nosuch",), ("lab", "nosuch"), ("dev,nosuch",), ("nosuch", "dev"), ("-e",)])
def test_an_unknown_extra_is_refused_with_the_known_ones(venv: Path, extras: tuple[str, ...]) -> None:
    status, message, called = install(venv, *extras)
    assert (status, called) == (2, [])
    known = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert message.split(": choose among ")[1].split() == ["lab", "multilingual", "mpnet", *known]


def test_models_are_fetched_if_they_are_named(venv: Path) -> None:
    assert "assets/fetch.py" in install(venv)[2]
    assert "assets/fetch.py multilingual" in install(venv, "multilingual")[2]
    assert "assets/fetch.py multilingual mpnet" in install(venv, "mpnet", "dev,multilingual")[2]


@pytest.mark.parametrize(
    ("models", "options", "fetched"),
    [
        ("", (), ""),
        ("", ("--model", "mpnet"), " mpnet"),
        ("", ("--model", "mpnet-clrcmd?pooling=max"), " mpnet"),
        ("minilm,multilingual", ("--model=max=mpnet?pooling=max",), " multilingual mpnet"),
        ("", ("--model", "mine=/models/all-mpnet-base-v2"), ""),
    ],
)
def test_serving_fetches_the_models_that_are_named(
    venv: Path, models: str, options: tuple[str, ...], fetched: str
) -> None:
    program(venv / "bin" / "semblance", "exit 0")
    environment = {"PATH": "/usr/bin:/bin", "SEMBLANCE_VENV": str(venv), "SEMBLANCE_MODELS": models}
    subprocess.run(["scripts/serve", *options], cwd=PROJECT, env=environment, capture_output=True, check=True)
    assert (venv / "bin" / "semblance.log").read_text() == " ".join(["serve", "--sample", *options]) + "\n"
    assert f"assets/fetch.py{fetched}" in (venv / "bin" / "python.log").read_text().splitlines()


def test_uv_installs_with_the_index_and_links_of_pip(venv: Path) -> None:
    program(venv / "bin" / "uv", "exit 0")
    status, message, called = install(venv)
    assert (status, message.count("\n")) == (0, 1)
    assert not any(" install " in each for each in called), "pip installs nothing"
    [arguments] = (venv / "bin" / "uv.log").read_text().splitlines()
    options = f"pip install --quiet --python {venv}/bin/python --find-links /wheels --find-links /more"
    assert arguments.startswith(
        f"{options} --default-index file:///index --constraint constraints.txt --editable assets"
    )


def test_pip_installs_where_uv_fails(venv: Path) -> None:
    program(venv / "bin" / "uv", "exit 2")
    status, _, called = install(venv)
    assert status == 0
    assert called[-1].startswith(f"-m pip --disable-pip-version-check --python {venv}/bin/python install --quiet")
