"""`semblance pull` against a hub on loopback that also lies, and the use of what was pulled."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import numpy as np
import pytest
from huggingface_hub import constants, scan_cache_dir
from safetensors.numpy import save_file

from semblance import encode
from semblance.models.errors import BadCheckpoint
from semblance.models.runtime import Compute
from semblance.service.model_loading.pulled import pulled_models
from semblance.service.model_loading.registry import read_served, read_source
from tests.support.command_line import SETTINGS, semblance, semblance_process
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, Service
from tests.support.servers.model_hub import ModelHub, git_id, model_hub
from tests.support.small_model import edit
from tests.support.text_files import write
from tests.support.waiting import until

pytestmark = pytest.mark.slow

NAME = "org/name"
TOKEN = "hf_secret"
CHUNK = 10 * 2**20  # bytes that the library writes at a time
NEEDED = {  # files of `small` that are fetched
    "config.json",
    "config_sentence_transformers.json",
    "model.safetensors",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "1_Pooling/config.json",
}


@dataclass(frozen=True)
class Puller:
    """A hub with the model `NAME`, and an empty home of the library.

    Attributes:
        repository: folder of the model.
        commit: the commit of its branch main.
    """

    hub: ModelHub
    home: Path
    repository: Path
    commit: str

    @property
    def settings(self) -> dict[str, str]:
        return {"HF_HOME": str(self.home), "HF_ENDPOINT": self.hub.url}

    def pull(self, name: str = NAME, **settings: str) -> subprocess.CompletedProcess[str]:
        """Pull in this process, which saves seconds, or with settings in another one."""
        ran = semblance_process("pull", name, **self.settings | settings) if settings else semblance("pull", name)
        assert "Traceback" not in ran.stderr
        assert TOKEN not in ran.stderr + ran.stdout
        return ran

    def pulled(self, name: str = NAME, **settings: str) -> str:
        """Standard error of a pull that succeeds."""
        ran = self.pull(name, **settings)
        assert ran.returncode == 0, ran.stderr
        return " ".join(ran.stderr.split())

    def failed(self, name: str = NAME, **settings: str) -> str:
        """Standard error of a pull that fails."""
        ran = self.pull(name, **settings)
        assert ran.returncode == 1, ran.stderr
        return " ".join(ran.stderr.split())

    def blobs(self) -> set[str]:
        return {file.name for file in (self.home / "hub" / "models--org--name" / "blobs").iterdir()}


@pytest.fixture
def puller(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Puller]:
    """A repository has other files, too; this process has the hub and the home that the command reads as settings."""
    folder = tmp_path / "repository"
    shutil.copytree(small, folder)
    for name in ("README.md", "modeling.py", "pytorch_model.bin", "onnx/model.onnx", "onnx/config.json", "eval/x.json"):
        write(folder / name, "{}")
    monkeypatch.chdir(PROJECT)
    with model_hub() as hub:
        for name, value in {
            "HF_HUB_CACHE": str(tmp_path / "hf" / "hub"),
            "ENDPOINT": hub.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": hub.url + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_TELEMETRY": False,
        }.items():
            monkeypatch.setattr(constants, name, value)
        yield Puller(hub, tmp_path / "hf", folder, hub.add(NAME, folder))


def test_a_pulled_model_encodes_as_its_folder(puller: Puller, small: Path) -> None:
    shown = puller.pulled(HF_HUB_OFFLINE="0")
    folder = puller.home / "hub" / "models--org--name" / "snapshots" / puller.commit
    size = (small / "model.safetensors").stat().st_size
    assert f"model.safetensors: {size / 1e6:.1f} MB" in shown
    assert f"org/name is commit {puller.commit}; semblance serve --model my-model=org/name" in shown
    assert {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} == NEEDED
    assert sorted(puller.hub.fetched()) == sorted(NEEDED)
    pulled, source = read_source(NAME), read_source(str(small))
    assert (pulled.space, pulled.location) == (source.space, folder)
    ours, theirs = (encode("A cat sleeps.", model=files.load("m", Compute())) for files in (pulled, source))
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)


def test_a_service_serves_a_pulled_model_without_the_hub(puller: Puller, small: Path) -> None:
    puller.pulled()
    puller.hub.requests.clear()
    environment = puller.settings | {"HF_HUB_OFFLINE": "0"}
    home = puller.home.parent / "semblance"
    home.mkdir()
    models = f"plain={NAME},first={NAME}@{puller.commit}?pooling=cls,folder={small}?pooling=cls"
    service = Service(home, PROJECT, SEMBLANCE, environment, models=models)
    try:
        with httpx2.Client(base_url=service.start(), timeout=120) as http:
            body = {"pairs": [{"a": "a cat sleeps", "b": "the old cat"}]}
            scores = [http.post("/similarity", json=body | {"model": model}).json() for model in ("first", "folder")]
            assert scores[0]["scores"] == scores[1]["scores"]
            assert http.post("/similarity", json=body | {"model": "plain"}).json()["scores"] != scores[0]["scores"]
    finally:
        service.stop()
    assert puller.hub.requests == []


def test_other_tools_see_the_pulled_files_in_use(puller: Puller) -> None:
    puller.pulled()
    found = scan_cache_dir(puller.home / "hub")
    [repository] = found.repos
    [revision] = repository.revisions
    assert (repository.repo_id, revision.commit_hash, revision.refs) == (
        NAME,
        puller.commit,
        frozenset({"semblance/main"}),
    )
    assert found.warnings == []


def test_models_lists_what_was_pulled(puller: Puller) -> None:
    puller.pulled()
    puller.pulled(f"{NAME}@{puller.commit}")
    ran = semblance_process("models", **puller.settings)
    lines = [line for line in ran.stdout.splitlines() if NAME in line]
    assert [each.name.revision for each in pulled_models()] == [puller.commit, "main"]
    size = pulled_models()[0].size
    assert len(lines) == 2
    assert all(text in lines[1] for text in (puller.commit, f"{size / 1e6:.1f} MB", "models--org--name/snapshots/"))


def test_wrong_bytes_are_removed_and_fetched_again(puller: Puller) -> None:
    content = puller.hub.commits[puller.commit]["model.safetensors"]
    for path, sent, counted in (
        ("1_Pooling/config.json", b"other", "5"),
        ("model.safetensors", bytes(len(content)), f"{len(content):,}"),
        ("model.safetensors", content[:-1000], f"{len(content) - 1000:,}"),
        ("model.safetensors", content + content, "more"),
    ):
        puller.hub.sends[path] = sent
        shown = puller.failed()
        assert f"{path} from {puller.hub.url} is not what that hub lists" in shown
        assert f"what it sent ({counted} bytes) was removed" in shown
        puller.hub.sends.clear()
        assert not any(name.endswith("incomplete") for name in puller.blobs())
        with pytest.raises(BadCheckpoint, match="semblance pull org/name"):
            read_source(NAME)
    puller.hub.requests.clear()
    puller.pulled()
    fetched = puller.hub.fetched()
    assert "model.safetensors" in fetched
    assert "modules.json" not in fetched


def test_a_damaged_file_of_the_cache_is_fetched_again(puller: Puller) -> None:
    puller.pulled()
    weights = read_source(NAME).location / "model.safetensors"
    content = weights.read_bytes()
    weights.resolve().write_bytes(content[:-1] + b"x")
    puller.hub.requests.clear()
    puller.pulled()
    assert puller.hub.fetched() == ["model.safetensors"]
    assert weights.read_bytes() == content


def test_files_that_other_programs_fetched_are_used(puller: Puller) -> None:
    blobs = puller.home / "hub" / "models--org--name" / "blobs"
    blobs.mkdir(parents=True)
    content = puller.hub.commits[puller.commit]["config.json"]
    (blobs / git_id(content)).write_bytes(content)
    puller.pulled()
    assert set(puller.hub.fetched()) == NEEDED - {"config.json"}


@pytest.mark.waits
def test_a_connection_that_always_breaks_is_reported(puller: Puller) -> None:
    puller.hub.breaks_after["model.safetensors"] = 1000
    assert "broke off" in puller.failed()
    puller.hub.honest()
    puller.pulled()


def unfinished_sizes(blobs: Path) -> list[int]:
    """Sizes of the files that are being fetched; one that is finished meanwhile has another name."""
    sizes = []
    for file in blobs.glob("*.incomplete"):
        with suppress(FileNotFoundError):
            sizes.append(file.stat().st_size)
    return sizes


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_pull_is_continued(puller: Puller, how: signal.Signals) -> None:
    numbers = np.random.default_rng(0).integers(0, 256, 2 * CHUNK + 5000, np.uint8)
    save_file({"more": numbers}, puller.repository / "more.safetensors")
    puller.hub.add(NAME, puller.repository)
    puller.hub.pauses_after["more.safetensors"] = CHUNK + 5000
    default = ["env", "--default-signal=INT"]  # which a shell disables for background processes
    command = [*default, sys.executable, "-m", "semblance.service.cli.main", "pull", NAME]
    settings = {"PATH": "/usr/bin:/bin", **SETTINGS, **puller.settings}
    with subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True) as process:
        blobs = puller.home / "hub" / "models--org--name" / "blobs"
        until(lambda: CHUNK in unfinished_sizes(blobs), "half of the file")
        process.send_signal(how)
        shown = process.communicate()[1]
    assert how == signal.SIGKILL or f"stopped; `semblance pull {NAME}` continues" in shown
    puller.hub.honest()
    puller.pulled()
    [again] = [each for each in puller.hub.requests if each.path.endswith("/more.safetensors")]
    assert again.headers["range"] == f"bytes={CHUNK}-"
    assert (read_source(NAME).location / "more.safetensors").read_bytes() == (
        puller.repository / "more.safetensors"
    ).read_bytes()


def test_a_moved_branch_is_followed_when_pulled_again(puller: Puller) -> None:
    puller.pulled()
    edit(puller.repository / "sentence_bert_config.json", max_seq_length=9)
    moved = puller.hub.add(NAME, puller.repository)
    assert read_source(NAME).max_tokens == 256
    puller.hub.requests.clear()
    assert f"org/name is commit {moved}, before {puller.commit};" in puller.pulled()
    assert puller.hub.fetched() == ["sentence_bert_config.json"]
    assert read_source(NAME).max_tokens == 9
    puller.pulled(f"{NAME}@{puller.commit}")
    assert [read_source(f"{NAME}@{each}").max_tokens for each in (puller.commit, moved)] == [256, 9]


def test_a_commit_that_cannot_be_served_is_not_recorded(puller: Puller) -> None:
    puller.pulled()
    edit(puller.repository / "config.json", auto_map={"AutoModel": "modeling.Net"})
    puller.hub.add(NAME, puller.repository)
    shown = puller.failed()
    assert "was fetched, but cannot be served" in shown
    assert "never run" in shown
    assert f"commit {puller.commit} stays the one that is served" in shown
    assert read_source(NAME).location.name == puller.commit


def test_a_token_is_sent_to_loopback(puller: Puller) -> None:
    puller.pulled(HF_TOKEN=TOKEN)
    assert {each.headers.get("authorization") for each in puller.hub.requests} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize("address", ["http://hub.example", "http://localhost:9"])
def test_no_token_is_sent_in_clear_text_to_another_host(puller: Puller, address: str) -> None:
    """The hub is also the proxy through which its other name is reached."""
    shown = puller.pulled(HF_TOKEN=TOKEN, HF_ENDPOINT=address, http_proxy=puller.hub.url)
    assert f"{address} is neither https nor on this machine: no token is sent" in shown
    assert len(puller.hub.requests) == len(NEEDED) + 1
    assert [each for each in puller.hub.requests if TOKEN in str(each.headers)] == []


def test_no_token_follows_a_redirect_to_another_host(puller: Puller) -> None:
    with model_hub() as other:
        other.commits |= puller.hub.commits
        path = f"/{NAME}/resolve/{puller.commit}/model.safetensors"
        puller.hub.redirects["model.safetensors"] = other.url + path
        puller.pulled(HF_TOKEN=TOKEN)
        [request] = other.requests
    assert (request.path, request.headers.get("authorization")) == (path, None)


def test_no_message_holds_the_password_of_a_hub(puller: Puller) -> None:
    address = puller.hub.url.replace("//", "//user:password@")
    puller.hub.refuses = (500, "")
    assert f"{puller.hub.url} answers with status 500" in (shown := puller.failed(HF_ENDPOINT=address))
    assert "password" not in shown


def test_nothing_about_this_machine_is_sent(puller: Puller) -> None:
    puller.pulled(AI_AGENT="some-agent")
    agents = {each.headers["user-agent"] for each in puller.hub.requests}
    assert all("torch" not in each and "agent" not in each for each in agents)
    assert [each.path for each in puller.hub.requests if NAME not in each.path] == []


def test_offline_nothing_is_asked(puller: Puller) -> None:
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        assert "so nothing is fetched" in puller.failed(**{variable: "1"})
    assert puller.hub.requests == []


def test_weights_in_other_formats_are_never_fetched(puller: Puller) -> None:
    (puller.repository / "model.safetensors").unlink()
    puller.hub.add(NAME, puller.repository)
    assert "has no *.safetensors file" in puller.failed()
    assert puller.hub.fetched() == []


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (401, "RepoNotFound", "has no model org/name, or your token may not read it"),
        (401, "", "has no model org/name, or your token may not read it"),
        (404, "", "has no model org/name"),
        (404, "RevisionNotFound", "org/name has no branch, tag or commit 'main'"),
        (403, "GatedRepo", "org/name is gated: accept its conditions"),
        (500, "", "answers with status 500"),
    ],
)
def test_refusals_say_what_to_do(puller: Puller, status: int, code: str, message: str) -> None:
    puller.hub.refuses = (status, code)
    assert message in puller.failed()


def test_an_unreachable_hub_is_reported(puller: Puller) -> None:
    assert "cannot be reached" in puller.failed(HF_ENDPOINT="http://127.0.0.1:9")
    assert "cannot be reached" in puller.failed(HF_ENDPOINT="nothing")


def _entry(**changes: object) -> dict[str, object]:
    return {"siblings": [{"rfilename": "a.safetensors", "size": 1, "blobId": "0" * 40} | changes]}


@pytest.mark.parametrize(
    "lists",
    [
        _entry(rfilename="../../../../outside.safetensors"),
        _entry(rfilename="/outside.safetensors"),
        _entry(rfilename="a\n.safetensors"),
        _entry(blobId="../../../outside"),
        _entry(lfs={"size": 1, "sha256": "../../../outside", "pointerSize": 1}),
        _entry(size=None),
        _entry(size="1"),
        {"sha": "../../outside"},
        {"sha": None},
        {"siblings": 5},
    ],
)
def test_a_list_that_names_other_places_is_refused(puller: Puller, lists: dict[str, object]) -> None:
    puller.hub.lists |= lists
    assert "does not answer as a model hub does" in puller.failed()
    assert puller.hub.fetched() == []
    assert not puller.home.exists()


def test_another_commit_than_the_requested_is_refused(puller: Puller) -> None:
    puller.hub.lists["sha"] = "0" * 40
    assert "does not answer as a model hub does" in puller.failed(f"{NAME}@{puller.commit}")


@pytest.mark.parametrize(
    "name",
    ["../org/name", "org/../name", "/org/name", "name", "org/name@../../x", "org/name@", "a--b/c", "o/n?x=y", ""],
)
def test_names_that_are_paths_are_refused(name: str) -> None:
    ran = semblance("pull", name)
    assert ran.returncode == 1
    assert "nor of the form org/name" in ran.stderr


def test_a_built_in_model_needs_no_pull(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = semblance("pull", "minilm")
    assert (ran.returncode, "there is nothing to fetch" in " ".join(ran.stderr.split())) == (0, True)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    ran = semblance("pull", "minilm")
    assert (ran.returncode, "run `scripts/install`" in ran.stderr) == (1, True)


def test_a_folder_precedes_a_pulled_model(
    puller: Puller, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    puller.pulled()
    assert (
        read_served(f"mine={NAME}")["mine"].location == puller.home / "hub/models--org--name/snapshots" / puller.commit
    )
    shutil.copytree(small, tmp_path / NAME)
    monkeypatch.chdir(tmp_path)
    assert read_source(NAME).location == Path(NAME)


def test_deleted_files_are_pulled_no_longer(puller: Puller) -> None:
    puller.pulled()
    shutil.rmtree(read_source(NAME).location)
    with pytest.raises(BadCheckpoint, match="fetch it by `semblance pull org/name`"):
        read_source(NAME)
    assert pulled_models() == []


def test_two_pulls_of_a_model_exclude_each_other(puller: Puller) -> None:
    puller.hub.pauses_after["model.safetensors"] = 10
    default = ["env", "--default-signal=INT"]  # which a shell disables for background processes
    command = [*default, sys.executable, "-m", "semblance.service.cli.main", "pull", NAME]
    settings = {"PATH": "/usr/bin:/bin", **SETTINGS, **puller.settings}
    with subprocess.Popen(command, env=settings, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: "model.safetensors" in puller.hub.fetched(), "the first pull")
            assert "another process is pulling org/name" in puller.failed()
        finally:
            process.kill()
