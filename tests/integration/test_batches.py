"""Batches: files of vectors by this process and by Ray, and their way into a collection."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from semblance.models.embeddings import Floats
from semblance.service.cli.batches.vector_files import read_space
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.ports.documents import Collection, PassageKey, Version
from semblance_lab.origin.harvest.dataset import join_shards
from tests.conftest import missing
from tests.lab.origin.untrained_origin import write_untrained
from tests.support.command_line import semblance
from tests.support.ray_workers import kill_workers, local_cluster
from tests.support.running_service import SEMBLANCE
from tests.support.servers.word_models import sentence, write_model
from tests.support.text_files import write

ROWS = 700  # of a file: several blocks
REFUSED = {"empty": "", "lost": "Bad \ud800 text", "long": "bra " * 30_000}


@pytest.fixture(scope="module")
def ray_installed() -> None:
    if find_spec("ray") is None:
        missing("ray, of the extra `ray`")


@pytest.fixture
def models(tmp_path: Path) -> str:
    return f"words={write_model(tmp_path / 'words.npz', 1)}"


def write_texts(folder: Path, files: int = 3, rows: int = ROWS) -> list[dict[str, Any]]:
    """Write files of sentences, the first one with all kinds of refused texts in between."""
    rng, written = random.Random(5), list[dict[str, Any]]()
    folder.mkdir()
    for number in range(files):
        own = [{"id": f"{number}-{i}", "text": f"{sentence(rng)} {i}", "n": i, "tag": ["a"]} for i in range(rows)]
        if not number:
            own[3:3] = [{"id": name, "text": text, "n": 0, "tag": None} for name, text in REFUSED.items()]
        lines = "".join(json.dumps(row) + "\n" for row in own)
        (folder / f"part.{number}.jsonl").write_text(lines + ("{broken\n" if number == 1 else ""))
        written += own
    return written


def by_ray(*arguments: object) -> list[str]:
    """A command that runs by Ray in a process of its own."""
    return [sys.executable, "-m", SEMBLANCE, *map(str, arguments), "--engine", "ray"]


def read_rows(out: Path) -> list[dict[str, Any]]:
    return [row for file in sorted(out.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]


def stored(home: Path) -> tuple[Collection, dict[str, Floats], dict[str, bytes]]:
    """The collection c of a home folder, its vectors and its token codes."""
    with closing(SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))) as store:
        collection = store.collection("c")
        start = Version(collection.version.epoch, 0)
        page = store.vector_changes("c", start, None, 10_000)
        vectors = {each.id: each.vectors[0] for each in page.changes if each.vectors is not None}
        codes = store.codes("c", [PassageKey(each, 0) for each in vectors], collection.settings.generation)
    return collection, vectors, {key.document: each for key, each in codes.items()}


def assert_same(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    """The same rows in the same order, with vectors that are equal within what encoders promise."""
    without = [[{name: row[name] for name in row if name != "vector"} for row in each] for each in (rows, others)]
    assert without[0] == without[1]
    for one, other in zip(rows, others, strict=True):
        assert (one["vector"] is None) == (other["vector"] is None)
        if one["vector"] is not None:
            assert np.dot(one["vector"], other["vector"]) > 0.9999


def test_no_row_is_lost_and_a_second_run_does_nothing(tmp_path: Path, models: str) -> None:
    def run(*said: str) -> dict[Path, int]:
        """Files with the times of their last change."""
        ran = semblance("embed", str(tmp_path / "in"), str(out), "--model", models)
        assert ran.returncode == 0, ran.stderr
        for each in said:
            assert each in ran.stderr
        return {file: file.stat().st_mtime_ns for file in sorted(out.glob("*.parquet"))}

    written, out = write_texts(tmp_path / "in"), tmp_path / "out"
    before = run(f"{len(written) + 1:,} rows in 3 new files, 0 files from earlier runs")
    rows, broken = read_rows(out), f"part.1.jsonl:{ROWS + 1}"
    ids = [row["id"] for row in written]
    ids.insert(-ROWS, broken)
    assert [row["id"] for row in rows] == ids, "a row is lost, or in another place"
    errors = {row["id"]: row["error"].partition(":")[0] for row in rows if row["vector"] is None}
    codes = {"empty": "empty_text", "lost": "ill_formed_text", "long": "text_too_long", broken: "malformed_json"}
    assert errors == codes
    assert all((row["error"] is None) == (row["vector"] is not None) for row in rows)
    assert json.loads(next(row["metadata"] for row in rows if row["id"] == "2-5")) == {"n": 5, "tag": ["a"]}

    assert run("0 rows in 0 new files, 3 files from earlier runs") == before
    first, *_ = before
    first.unlink()
    (out / f"{first.name}.killed.partial").write_bytes(b"PAR1")
    after = run("1 new files, 2 files from earlier runs")
    assert after.keys() == before.keys()
    assert sum(after[file] != before[file] for file in before) == 1
    assert not list(out.glob("*.partial"))
    assert_same(read_rows(out), rows)


def test_fields_are_guessed_and_a_refusal_leaves_nothing_behind(tmp_path: Path, models: str) -> None:
    lines = ["ticket_no;customer;question", *(f"T{i};Ada;Where is my parcel {i}, please?" for i in range(3))]
    file, out = write(tmp_path / "tickets.csv", *lines), tmp_path / "out"
    ran = semblance("embed", str(file), str(out), "--model", models)
    assert ran.returncode == 0, ran.stderr
    assert f"{file}: text: question; id: ticket_no" in ran.stderr
    assert [(row["id"], row["text"]) for row in read_rows(out)][2] == ("T2", "Where is my parcel 2, please?")
    unreadable = write(tmp_path / "numbers.csv", "a,b", "1,2")
    ran = semblance("embed", str(unreadable), str(tmp_path / "none"), "--model", models)
    assert ran.returncode == 1
    assert "none looks like one; the fields are a, b" in ran.stderr
    assert "0 rows" not in ran.stderr
    assert not (tmp_path / "none").exists()


def test_another_model_or_content_makes_another_file(tmp_path: Path, models: str) -> None:
    write_texts(tmp_path / "in", files=1, rows=3)
    (tmp_path / "in" / "broken.parquet").write_bytes(b"no Parquet")
    other = f"words={write_model(tmp_path / 'other.npz', 2)}"
    for options in (["--model", models], ["--model", other], ["--model", models, "--tokens"]):
        ran = semblance("embed", str(tmp_path / "in"), str(tmp_path / "out"), *options)
        assert (ran.returncode, "broken.parquet cannot be read as Parquet" in ran.stderr) == (1, True)
    files = list((tmp_path / "out").glob("*.parquet"))
    assert (len({read_space(file).space for file in files}), len(files)) == (2, 3)


@pytest.mark.parametrize("tokens", [[], ["--tokens"]])
def test_vectors_are_stored_as_the_service_makes_them(tmp_path: Path, models: str, tokens: list[str]) -> None:
    written = write_texts(tmp_path / "in", files=1)
    texts, out = tmp_path / "in" / "part.0.jsonl", tmp_path / "out"
    settings = {"SEMBLANCE_MODELS": models}
    assert semblance("embed", str(texts), str(out), *tokens, **settings).returncode == 0
    # without vectors, the default is to cut the long text into passages
    for home, arguments, refused in (("given", [str(out), "--vectors"], 3), ("encoded", [str(texts)], 2)):
        offline = ["--collection", "c", "--home", str(tmp_path / home)]
        ran = semblance("index", *arguments, *offline, **settings)
        assert ran.returncode == 1, ran.stderr
        assert f"{ROWS + 3 - refused:,} documents stored in c" in ran.stderr
        assert f"s refused: {refused}" in ran.stderr
    collection, vectors, codes = stored(tmp_path / "given")
    _, expected, _ = stored(tmp_path / "encoded")
    assert vectors.keys() == expected.keys() - {"long"} == {row["id"] for row in written} - REFUSED.keys()
    for id_, vector in vectors.items():
        np.testing.assert_allclose(vector, expected[id_], atol=1e-6)
    assert collection.settings.tokens == ("int8" if tokens else "none")
    assert codes == {row["id"]: row["codes"] for row in read_rows(out) if row["vector"]} if tokens else codes == {}
    assert semblance("index", "verify", "--home", str(tmp_path / "given"), **settings).returncode == 0


def test_vectors_of_another_model_are_refused_by_name(tmp_path: Path, models: str) -> None:
    write_texts(tmp_path / "in", files=1, rows=5)
    other = f"other={write_model(tmp_path / 'other.npz', 2)}"
    assert semblance("embed", str(tmp_path / "in"), str(tmp_path / "out"), "--model", models).returncode == 0
    index = ["--vectors", "--collection", "c", "--home", str(tmp_path / "home")]
    ran = semblance("index", str(tmp_path / "out"), *index, SEMBLANCE_MODELS=other)
    assert ran.returncode == 1
    assert "the vectors are of model 'words'" in ran.stderr
    assert "the service has only other" in ran.stderr
    plain = semblance("index", str(tmp_path / "in" / "part.0.jsonl"), *index[1:], SEMBLANCE_MODELS=other)
    assert "6 documents stored" in plain.stderr  # the long one in passages
    ran = semblance("index", str(tmp_path / "out"), *index, SEMBLANCE_MODELS=other)
    assert ran.returncode == 1
    assert "collection 'c' is of model 'other'" in ran.stderr


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("ray_installed")
def test_killed_ray_workers_lose_and_repeat_no_row(tmp_path: Path) -> None:
    texts = tmp_path / "in"
    written = write_texts(texts, files=8, rows=150)
    local = semblance("embed", str(texts), str(tmp_path / "local"), "--model", "minilm")
    assert local.returncode == 0, local.stderr
    command = by_ray("embed", texts, tmp_path / "ray", "--model", "minilm")
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as driver:
        killed = kill_workers(driver, 2, random.Random(), most_s=0.5)
        _, errors = driver.communicate()
    assert driver.returncode == 0, errors
    assert len(killed) == 2, "the batch was over before two workers were killed"
    rows = read_rows(tmp_path / "ray")
    assert max(Counter(row["id"] for row in rows).values()) == 1
    assert len(rows) == len(written) + 1
    assert sorted(file.name for file in (tmp_path / "ray").iterdir()) == sorted(
        file.name for file in (tmp_path / "local").iterdir()
    )
    assert_same(rows, read_rows(tmp_path / "local"))


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("ray_installed")
def test_a_client_without_the_token_cannot_use_the_cluster(tmp_path: Path) -> None:
    """Ray's processes listen on all addresses, and run whatever code a client sends."""
    write_texts(tmp_path / "in", files=8, rows=1500)
    command = by_ray("embed", tmp_path / "in", tmp_path / "out", "--model", "minilm")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as driver:
        try:
            address, token = local_cluster(driver)
            client = [sys.executable, "-c", f"import ray; ray.init(address={address!r}); print(len(ray.nodes()))"]
            driver.send_signal(signal.SIGSTOP)  # so that it cannot end before the clients have called
            with_token = environment | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
            ran = [
                subprocess.run(client, env=each, capture_output=True, text=True, check=False)
                for each in (environment, with_token)
            ]
        finally:
            driver.send_signal(signal.SIGCONT)
            driver.terminate()
            driver.communicate()
    assert [each.returncode for each in ran] == [1, 0], ran[1].stderr
    assert "Failed to connect to Ray cluster" in ran[0].stderr
    assert ran[1].stdout == "1\n"


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("ray_installed")
@pytest.mark.filterwarnings("ignore")
def test_all_shards_of_a_harvest_run_by_ray(tmp_path: Path) -> None:
    origin = write_untrained(tmp_path / "origin")
    options = ["harvest", str(origin), "--pairs", "90", "--size", "4"]
    one = semblance(*options, "--out", str(tmp_path / "local"), "--shard", "1/2")
    assert one.returncode == 0, one.stderr
    two = semblance(*options, "--out", str(tmp_path / "local"), "--shards", "2")
    assert "shard 1/2, 45 of them from earlier runs" in two.stderr
    command = by_ray(*options, "--out", tmp_path / "ray", "--shards", "2")
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    joined = [join_shards([tmp_path / name]).pairs for name in ("local", "ray")]
    columns = ["number1", "number2", "sentence1", "sentence2"]
    assert joined[0].select(columns).equals(joined[1].select(columns))
    np.testing.assert_allclose(joined[0]["cosine"].to_numpy(), joined[1]["cosine"].to_numpy(), atol=1e-5)


def test_an_absent_cluster_or_ray_is_one_line(tmp_path: Path, models: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_texts(tmp_path / "in", files=1, rows=3)
    embed = ["embed", str(tmp_path / "in"), str(tmp_path / "out"), "--model", models, "--engine", "ray"]
    if find_spec("ray") is not None:
        ran = semblance(*embed, "--address", "127.0.0.1:1")
        assert ran.returncode == 1
        assert "no Ray cluster answers at 127.0.0.1:1" in ran.stderr
    monkeypatch.setitem(sys.modules, "ray", None)
    ran = semblance(*embed)
    assert ran.returncode == 1
    assert "`semblance embed` needs ray, which is not installed: install the extra ray" in ran.stderr
