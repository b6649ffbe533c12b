"""The image as buildah builds it from the Dockerfile, started as a container engine would start it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.project import PROJECT
from tests.support.running_service import reserved_port, wait_for_url
from tests.support.servers.server_process import command_line, process_tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

IMAGE = "semblance:cpu"
UID = 10001
SETTINGS = {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}  # as in scripts/image


def buildah(*arguments: str) -> str:
    command = ["buildah", *arguments]
    run = subprocess.run(command, env=os.environ | SETTINGS, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if os.geteuid() != 0 or shutil.which("buildah") is None or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root, buildah and mmdebstrap")  # under CI=true, too: test_image.py has its steps
    mounts = pip_mounts(tmp_path_factory.mktemp("pip"))
    run = subprocess.run([PROJECT / "scripts" / "image", *mounts], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    name = buildah("from", "--pull-never", IMAGE)
    try:
        yield name
    finally:
        buildah("rm", name)


def pip_mounts(folder: Path) -> list[str]:
    """Options that give the build this machine's configuration of pip, with the files that it names."""
    listing = subprocess.run(["pip", "config", "list"], capture_output=True, text=True, check=True).stdout
    values = dict(line.partition(".")[2].split("=", 1) for line in listing.splitlines())
    lines = [f"{name} = {value.strip(chr(39))}" for name, value in values.items()]
    (folder / "pip.conf").write_text("\n".join(["[global]", *lines]) + "\n")
    words = [word for line in lines for word in line.split()]
    indexes = [str(Path(word.removeprefix("file://")).parent) for word in words if word.startswith("file://")]
    named = sorted({*indexes, *(word for word in words if word.startswith("/") and Path(word).exists())})
    return [f"--volume={folder / 'pip.conf'}:/etc/pip.conf:ro", *(f"--volume={name}:{name}:ro" for name in named)]


def test_the_entry_point_serves_unprivileged_and_ends_on_sigterm(container: str, tmp_path: Path) -> None:
    image = json.loads(buildah("inspect", "--type", "image", IMAGE))  # what it tells a container engine
    config, port, log = image["OCIv1"]["config"], reserved_port(), tmp_path / "log"
    variables = {"SEMBLANCE_HOST": "127.0.0.1", "SEMBLANCE_PORT": str(port)}
    options = [f"--env={name}={value}" for name, value in variables.items()]
    run = ["buildah", "run", *options, container, "--", *config["Entrypoint"], *config["Cmd"]]
    with log.open("wb") as errors:
        service = subprocess.Popen(run, env=os.environ | SETTINGS, stdout=subprocess.PIPE, stderr=errors)
    try:
        url = wait_for_url(service, log)
        command = ["/opt/semblance/bin/python", "/opt/semblance/bin/semblance", "serve"]
        [served] = [pid for pid in process_tree(service.pid) if command_line(pid) == command]
        assert Path(f"/proc/{served}").stat().st_uid == UID
        assert httpx2.get(f"{url}/ready", timeout=600).json()["status"] == "ready"
        answer = httpx2.post(
            f"{url}/similarity", json={"pairs": [{"a": "A cat sleeps.", "b": "A kitten naps."}]}, timeout=600
        )
        assert answer.json()["scores"][0] > 0.5
        check = image["Docker"]["config"]["Healthcheck"]["Test"]
        assert check[0] == "CMD"
        buildah("run", container, "--", *(part.replace(":8000", f":{port}") for part in check[1:]))
        os.kill(served, signal.SIGTERM)
        assert service.wait(30) == 0, log.read_text()
    finally:
        if service.poll() is None:
            for pid in process_tree(service.pid):
                os.kill(pid, signal.SIGKILL)
        service.communicate()
