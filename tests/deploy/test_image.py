"""The image as far as it can be built without a container engine: install steps and command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.deploy.deployment import stages
from tests.support.project import PROJECT
from tests.support.running_service import free_port, wait_for_url

pytestmark = pytest.mark.timeout(900)

NOBODY_UID = 65534
# torch pins its CUDA packages; Python before 3.11.3 needs async-timeout
UNPINNED = ("pip", "setuptools", "semblance", "nvidia-", "cuda-", "triton", "async-timeout")
PYTHON = "/usr/bin/python3"  # executable by every user


@pytest.fixture(scope="module")
def image() -> Iterator[Path]:
    """Folder where the user `nobody` ran the install steps of the target `cpu`."""
    if os.geteuid() != 0:
        missing("root, to switch to another user")
    if subprocess.run([PYTHON, "-c", "import ensurepip, venv"], check=False).returncode:
        missing(f"{PYTHON} with the module venv")
    folder = Path(tempfile.mkdtemp(prefix="image-"))  # outside folders that only root can enter
    (folder / "tmp").mkdir()
    for instruction, rest in stages()["source"]:
        if instruction == "COPY":
            copy(rest.split()[:-1], folder / rest.split()[-1])
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY_UID, NOBODY_UID)
    for instruction, rest in stages()["install-cpu"]:
        if instruction == "RUN":
            as_nobody(
                folder,
                [
                    "sh",
                    "-euc",
                    rest.replace("/opt/semblance", str(folder / "venv")).replace("python -m venv", f"{PYTHON} -m venv"),
                ],
            )
    yield folder
    shutil.rmtree(folder)


def copy(names: list[str], into: Path) -> None:
    """As COPY: copy files into a folder, or the content of a folder into another."""
    for name in names:
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, into, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(PROJECT / name, into)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Environment of `nobody`, who has no home, with our configuration of pip."""
    more |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder / "tmp"), "TMPDIR": str(folder / "tmp"), **more}


def as_nobody(folder: Path, command: list[str]) -> str:
    """Run a command as `nobody` and return its output."""
    run = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        user=NOBODY_UID,
        group=NOBODY_UID,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return run.stdout


def test_installed_packages_have_pinned_versions_without_training_extras(image: Path) -> None:
    frozen = as_nobody(image, [str(image / "venv/bin/python"), "-m", "pip", "list", "--format=json"])
    pins = dict(line.split("==") for line in (image / "constraints.txt").read_text().splitlines() if "==" in line)
    pinned = {re.sub("[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    installed = {re.sub("[-_.]+", "-", each["name"]).lower(): each["version"] for each in json.loads(frozen)}
    differing = {
        name: version
        for name, version in installed.items()
        if version.partition("+")[0] != pinned.get(name) and not name.startswith(UNPINNED)
    }
    assert differing == {}
    assert not {"datasets", "peft", "accelerate", "gensim", "duckdb", "pyarrow", "pytest"} & set(installed)
    as_nobody(image, [str(image / "venv/bin/python"), "-m", "pip", "check"])


def test_it_serves_as_nobody_and_the_health_check_detects_it(image: Path) -> None:
    check = json.loads(dict(stages()["runtime"])["HEALTHCHECK"].partition("CMD ")[2])
    port = free_port()
    healthy = [str(image / "venv/bin/python"), check[1], check[2].replace("8000", str(port))]
    before = subprocess.run(healthy, check=False, capture_output=True, env=environment(image))
    assert before.returncode != 0, "nothing runs yet"
    home = image / "tmp" / "data"
    settings = {"SEMBLANCE_HOME": str(home), "SEMBLANCE_PORT": str(port), "SEMBLANCE_DEVICE": "cpu"}
    entry = [str(image / "venv/bin" / part) if part == "semblance" else part for part in command_of("runtime")]
    log = image / "tmp" / "log"
    with log.open("wb") as errors:
        service = subprocess.Popen(
            entry,
            cwd="/",
            env=environment(image, **settings),
            user=NOBODY_UID,
            group=NOBODY_UID,
            extra_groups=[],
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    try:
        wait_for_url(service, log)
        as_nobody(image, healthy)
    finally:
        service.terminate()
        service.communicate()
    assert service.returncode == 0


def command_of(stage: str) -> list[str]:
    """Command of a container of this stage."""
    steps = dict(stages()[stage])
    return [*json.loads(steps["ENTRYPOINT"]), *json.loads(steps["CMD"])]
