"""The image as far as it can be built without a container engine: install steps and command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from semblance_client import Client

from tests.conftest import missing
from tests.deploy.deployment import stages
from tests.support.environments import digest_of, locked_environment, make_once
from tests.support.project import PROJECT
from tests.support.running_service import Service, reserved_port, wait_for_url
from tests.support.small_model import edit, make_small

pytestmark = [pytest.mark.timeout(3600), pytest.mark.nightly]

NOBODY_UID = 65534
UNPRIVILEGED: dict[str, Any] = {"user": NOBODY_UID, "group": NOBODY_UID, "extra_groups": []}
MAX_BYTES = 580_000_000  # of what is installed
UNPINNED = ("semblance", "async-timeout")  # which Python before 3.11.3 needs
PYTHON = "/usr/bin/python3"  # executable by every user


@dataclass(frozen=True, slots=True)
class Image:
    """What the target `cpu` of the Dockerfile installs, and a folder that the user `nobody` may write to."""

    source: Path
    venv: Path
    tmp: Path

    @property
    def python(self) -> str:
        return str(self.venv / "bin" / "python")


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The install steps as `nobody` ran them. Packages of others are kept, ours are installed when they change."""
    if os.geteuid() != 0:
        missing("root, to switch to another user")
    if subprocess.run([PYTHON, "-c", "import ensurepip, venv"], check=False).returncode:
        missing(f"{PYTHON} with the module venv")
    tmp = Path(tempfile.mkdtemp(prefix="image-"))
    os.chown(tmp, NOBODY_UID, NOBODY_UID)
    with locked_environment("image") as folder:
        installed = Image(folder / "source", folder / "venv", tmp)
        shutil.rmtree(installed.source, ignore_errors=True)
        copy_source(installed.source)
        ours = digest_of((), [installed.source])
        make_once(folder, "others", pinned_digest(installed.source), lambda: install_all(installed, ours))
        make_once(folder, "ours", ours, lambda: install_ours(installed))
    yield installed
    shutil.rmtree(tmp)


def copy_source(into: Path) -> None:
    """As the COPY instructions: copy files into a folder, or the content of a folder into another."""
    into.mkdir(mode=0o755)
    for *names, target in (rest.split() for instruction, rest in stages()["source"] if instruction == "COPY"):
        for name in names:
            if (PROJECT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
                shutil.copytree(PROJECT / name, into / target, symlinks=True, ignore=ignored)
            else:
                shutil.copy(PROJECT / name, into / target)
    for path in [into, *into.rglob("*")]:
        os.chown(path, NOBODY_UID, NOBODY_UID, follow_symlinks=False)


def install_step() -> tuple[list[str], str]:
    install = stages()["install-cpu"]
    [step] = [rest for instruction, rest in install if instruction == "RUN"]
    return [rest for instruction, rest in install if instruction == "ARG"], step


def pinned_digest(source: Path) -> str:
    """Digest of what the packages of others depend on."""
    version = subprocess.run([PYTHON, "--version"], capture_output=True, text=True, check=True).stdout
    projects = (f"{each}/pyproject.toml" for each in (".", "assets", "clients/python"))
    names = ("constraints.txt", "assets/fetch.py", "assets/q4_folder.py", *projects)
    variables, step = install_step()
    return digest_of((*variables, step, version), [source / name for name in names])


def install_all(image: Image, ours: str) -> None:
    """Run the install step as it is, in place of what was installed."""
    shutil.rmtree(image.venv, ignore_errors=True)
    image.venv.mkdir()
    os.chown(image.venv, NOBODY_UID, NOBODY_UID)
    variables, step = install_step()
    step = step.replace("/opt/semblance", str(image.venv)).replace("python -m venv", f"{PYTHON} -m venv")
    as_nobody(image, ["env", *variables, "sh", "-euc", step])
    (image.venv.parent / "ours.stamp").write_text(ours)


def install_ours(image: Image) -> None:
    packages = ["./assets", "./clients/python", "."]
    command = [sys.executable, "-m", "pip", "--python", image.python, "install", "--no-deps", "--force-reinstall"]
    subprocess.run([*command, *packages], cwd=image.source, check=True, capture_output=True)


def environment(image: Image, **more: str) -> dict[str, str]:
    """Environment of `nobody`, who has no home, with our configuration of pip."""
    more |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {"PATH": "/usr/bin:/bin", "HOME": str(image.tmp), "TMPDIR": str(image.tmp), **more}


def as_nobody(image: Image, command: list[str]) -> str:
    run: subprocess.CompletedProcess[str] = subprocess.run(
        command, cwd=image.source, env=environment(image), capture_output=True, text=True, check=False, **UNPRIVILEGED
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return run.stdout


def versions(listing: str) -> dict[str, str]:
    """Versions by normalized name, of lines such as numpy==2.3.1."""
    pairs = (line.split("==") for line in listing.splitlines() if "==" in line)
    return {re.sub("[-_.]+", "-", name).lower(): version for name, version in pairs}


def test_installed_packages_have_pinned_versions_without_training_extras(image: Image) -> None:
    listing = "from importlib.metadata import distributions"
    listing += "; print(*(f'{each.name}=={each.version}' for each in distributions()), sep='\\n')"
    installed = versions(as_nobody(image, [image.python, "-c", listing]))
    pinned = versions((image.source / "constraints.txt").read_text())
    differing = {
        name: version
        for name, version in installed.items()
        if version.partition("+")[0] != pinned.get(name) and not name.startswith(UNPINNED)
    }
    assert differing == {}
    assert not {"torch", "transformers", "scipy", "pot", "matplotlib", "pyarrow", "pytest", "pip"} & set(installed)
    files = [file for file in image.venv.rglob("*") if file.is_file() and "mpnet" not in file.parts]  # if named only
    size = sum(file.lstat().st_size for file in files)
    assert size < MAX_BYTES


def test_it_serves_as_nobody_and_the_health_check_detects_it(image: Image) -> None:
    runtime = dict(stages()["runtime"])
    check = json.loads(runtime["HEALTHCHECK"].partition("CMD ")[2])
    port = reserved_port()
    healthy = [image.python, check[1], check[2].replace("8000", str(port))]
    before = subprocess.run(healthy, check=False, capture_output=True, env=environment(image))
    assert before.returncode != 0, "nothing runs yet"
    home = image.tmp / "data"
    settings = {"SEMBLANCE_HOME": str(home), "SEMBLANCE_PORT": str(port), "SEMBLANCE_DEVICE": "cpu"}
    command = [*json.loads(runtime["ENTRYPOINT"]), *json.loads(runtime["CMD"])]
    entry = [str(image.venv / "bin" / part) if part == "semblance" else part for part in command]
    log = image.tmp / "log"
    with log.open("wb") as errors:
        env = environment(image, **settings)
        service = subprocess.Popen(entry, cwd="/", env=env, stdout=subprocess.PIPE, stderr=errors, **UNPRIVILEGED)
    try:
        wait_for_url(service, log)
        as_nobody(image, healthy)
    finally:
        service.terminate()
        service.communicate()
    assert service.returncode == 0


def test_replicas_with_and_without_torch_share_a_store(image: Image, postgres: str, tmp_path: Path) -> None:
    """They have the same spaces and builds, and read each other's vectors."""
    homes = tmp_path / "full", tmp_path / "slim"
    for home in homes:
        home.mkdir()
    options: Any = {"database_url": postgres, "precision": "float32"}
    full = Service(homes[0], **options)
    slim = Service(homes[1], project=image.tmp, python=image.python, **options)
    with ExitStack() as stack:
        for each in (full, slim):
            stack.callback(each.stop)
        clients = [stack.enter_context(Client(each.start())) for each in (full, slim)]
        clients[0].create_collection("shared", tokens="int8")
        texts = ["A cat sleeps.", "The night train leaves.", "Taxes are due."]
        for i, client in enumerate(clients):  # each stores some
            client.add_documents([{"id": f"{i}-{j}", "text": text} for j, text in enumerate(texts)], "shared")
        version = clients[1].collection("shared").version
        answers = [client.search("a sleepy kitten", "shared", k=6, min_version=version) for client in clients]
        scores = [[(hit.id, hit.score) for hit in each.hits] for each in answers]
        assert scores[0] == scores[1]
        assert len(scores[0]) == 6
        facts = [httpx2.get(f"{each.url}/models", timeout=600).json() for each in (full, slim)]
        assert facts[0]["models"] == facts[1]["models"]
        assert facts[0]["models"][0]["build"]
        measures = [{each["name"] for each in fact["measures"]} for fact in facts]
        assert measures[0] - measures[1] == {"cmd", "word_movers", "partial_transport", "unbalanced_transport"}
        body = {"pairs": [{"a": "x", "b": "y"}], "measure": "cmd"}
        refused = httpx2.post(f"{slim.url}/similarity", json=body, timeout=600)
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown_measure")
        assert "needs pot, which is not installed: install the extra transport" in refused.json()["detail"]
        asked = {"a": "猫 sleeps", "b": "a cat", "format": "png"}
        pictures = [httpx2.get(f"{each.url}/explain", params=asked, timeout=600).content for each in (full, slim)]
        assert pictures[0] == pictures[1]


def test_models_that_need_torch_are_refused_with_the_extra(image: Image, tmp_path: Path) -> None:
    folder = make_small(tmp_path / "model")
    edit(folder / "config.json", hidden_act="relu")
    refusals: list[tuple[Any, str]] = [
        ({"models": f"other={folder}"}, "whose network or tokenizer is not of BERT's kind, needs torch"),
        ({"runtime": "torch"}, "SEMBLANCE_RUNTIME=torch needs torch"),
        ({"device": "cuda"}, "SEMBLANCE_DEVICE=cuda needs torch"),
    ]
    for options, refusal in refusals:
        slim = Service(tmp_path, project=image.tmp, python=image.python, exports=str(tmp_path / "exports"), **options)
        with pytest.raises(RuntimeError, match=f"{refusal}.*: install the extra models, by scripts/install"):
            slim.start()
        slim.stop()
