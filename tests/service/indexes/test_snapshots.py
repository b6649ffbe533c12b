"""Snapshots: an index is loaded exactly as it was saved, or not at all."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semblance.models import catalogue
from semblance.models.embeddings import unit_rows
from semblance.models.files.digests import digest
from semblance.service.filters import parse_filter
from semblance.service.indexes import snapshots
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import Collection, VectorChange, Version
from semblance.service.ports.indexes import ENGINES
from tests.service.indexes.dying_saves import DIM, content, settings, two_states

NAMES = catalogue.names(ENGINES)
ONE_ENGINE = pytest.mark.parametrize("engine", ["exact"])  # where nothing depends on the content of the files


def collection(engine: str, epoch: str = "epoch", number: int = 2) -> Collection:
    return Collection("c", Version(epoch, number), settings(engine))


@pytest.fixture(params=NAMES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def saved(engine: str, tmp_path: Path) -> Path:
    snapshots.save(tmp_path / "c", two_states(engine)[1], settings(engine))
    return tmp_path / "c"


def refused(folder: Path, wanted: Collection, caplog: pytest.LogCaptureFixture) -> bool:
    caplog.clear()
    with caplog.at_level(logging.INFO):
        index = snapshots.load(folder, wanted)
    return index is None and len(caplog.records) == 1 and "collection c" in caplog.text


@pytest.fixture(scope="module")
def died(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Output of a process that replaces a snapshot of every engine, and dies at each step."""
    folder = tmp_path_factory.mktemp("died")
    command = [sys.executable, "-m", "tests.service.indexes.dying_saves", str(folder), *NAMES]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_crash_leaves_the_old_or_the_new_snapshot(engine: str, died: subprocess.CompletedProcess[str]) -> None:
    lines = died.stdout.splitlines()
    assert engine in lines, died.stderr
    begin = lines.index(engine) + 1
    *deaths, end = lines[begin : next((i for i in range(begin, len(lines)) if lines[i] in NAMES), None)]
    assert end == "survived", died.stderr
    # a snapshot has four files; loading removes any others
    assert set(deaths) == {"old 4", "new 4"}
    assert deaths == sorted(deaths, reverse=True)  # the switch happens once
    assert len(deaths) > 12


def test_a_loaded_index_equals_the_saved_one_and_accepts_changes(engine: str, saved: Path) -> None:
    index, loaded = two_states(engine)[1], snapshots.load(saved, collection(engine))
    assert loaded is not None
    assert content(loaded) == content(index)
    rng = np.random.default_rng(5)
    queries = unit_rows(rng.normal(size=(30, DIM))).astype(np.float32)
    more = [VectorChange(f"d{i}", 3, queries[i : i + 1 + i % 3], {"n": i}) for i in range(5, 15)]
    more += [VectorChange("d20", 3, None, {})]
    for changes in ([], more):
        index.apply(changes)
        loaded.apply(changes)
        for where in (None, parse_filter({"n": {"gte": 5}}), parse_filter({"tags": "ü"})):
            assert loaded.search(queries, 5, where) == index.search(queries, 5, where)
    assert content(loaded) == content(index)


def test_an_index_goes_on_from_the_snapshot_it_saved(engine: str, tmp_path: Path) -> None:
    saved, other = two_states(engine)[1], two_states(engine)[1]
    vectors = unit_rows(np.random.default_rng(7).normal(size=(60, DIM))).astype(np.float32)
    relabeled = VectorChange("d20", 3, vectors[40][None], {"n": "new"}, ["Other text 20"])
    rounds = [
        [VectorChange(f"d{i}", 3, vectors[i : i + 2], {"n": i}, [f"No. {i}", "more"]) for i in range(5, 15)],
        [VectorChange("d6", 4, None, {}), VectorChange("d50", 4, vectors[50][None], {}, ["A new document"]), relabeled],
    ]
    for changes in rounds:
        snapshots.save(tmp_path / "c", saved, settings(engine))
        for index in (saved, other):
            index.apply(changes)
        assert content(saved) == content(other)
    snapshots.save(tmp_path / "c", saved, settings(engine))
    loaded = snapshots.load(tmp_path / "c", collection(engine))
    assert loaded is not None
    assert content(loaded) == content(other)


@pytest.mark.slow
def test_a_loaded_index_of_many_rows_gives_the_same_hits(engine: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    vectors = unit_rows(rng.normal(size=(21_000, DIM))).astype(np.float32)
    index = CollectionIndex(catalogue.find(ENGINES, engine)(DIM), "epoch", engine)
    index.apply([VectorChange(f"d{i}", 1, vector[None], {}) for i, vector in enumerate(vectors)])
    snapshots.save(tmp_path / "c", index, settings(engine))
    loaded = snapshots.load(tmp_path / "c", collection(engine))
    assert loaded is not None
    assert loaded.search(vectors[:50], 10, None) == index.search(vectors[:50], 10, None)


@ONE_ENGINE
@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped", "gone", "grown"])
@pytest.mark.parametrize("which", ["index-", "rows-", "terms-", "manifest"])
def test_a_damaged_file_is_detected(
    engine: str, saved: Path, which: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    (file,) = (each for each in saved.iterdir() if each.name.startswith(which))
    whole = file.read_bytes()
    if damage == "flipped":
        for place in range(0, len(whole), max(1, len(whole) // 40)):
            broken = bytearray(whole)
            broken[place] ^= 1 << place % 8
            file.write_bytes(broken)
            assert refused(saved, collection(engine), caplog), place
    elif damage == "gone":
        file.unlink()
        assert refused(saved, collection(engine), caplog)
    else:
        file.write_bytes({"cut": whole[:-1], "emptied": b"", "grown": whole + b"x"}[damage])
        assert refused(saved, collection(engine), caplog)
    file.write_bytes(whole)
    assert snapshots.load(saved, collection(engine)) is not None


@ONE_ENGINE
@pytest.mark.parametrize("which", ["index-", "rows-", "terms-", "manifest", ""])
def test_files_of_another_collection_are_detected(
    saved: Path, engine: str, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = CollectionIndex(catalogue.find(ENGINES, engine)(DIM), "other", engine)
    other.apply([VectorChange("x", 1, np.array([1, 0, 0, 0], np.float32)[None], {})])
    other.advance(Version("other", 1))
    theirs = saved.parent / "other"
    snapshots.save(theirs, other, settings(engine))
    for file in theirs.iterdir():
        if file.name.startswith(which):
            (own,) = (each for each in saved.iterdir() if each.name[:5] == file.name[:5])
            shutil.copy(file, own if which else saved / file.name)
    assert refused(saved, collection(engine), caplog)


@ONE_ENGINE
def test_a_manifest_cannot_name_files_elsewhere(saved: Path, engine: str, caplog: pytest.LogCaptureFixture) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    elsewhere = saved.parent / "elsewhere"
    elsewhere.mkdir()
    file = saved / manifest["manifest"]["index_file"]
    shutil.copy(file, elsewhere)
    manifest["manifest"]["index_file"] = f"../elsewhere/{file.name}"
    manifest["sha256"] = digest(**manifest["manifest"])
    (saved / "manifest.json").write_text(json.dumps(manifest))
    assert refused(saved, collection(engine), caplog)


@pytest.mark.parametrize("name", ["../other", "inner/other", "..", ""])
def test_collection_names_cannot_leave_the_folder(name: str, tmp_path: Path) -> None:
    indexes, unsafe = IndexFolder(tmp_path / "indexes"), replace(collection("exact"), name=name)
    acts: list[Callable[[], object]] = [
        lambda: indexes.save(unsafe, two_states("exact")[1]),
        lambda: indexes.load(unsafe, lambda _: {}),
        lambda: indexes.discard(name),
    ]
    for act in acts:
        with pytest.raises(ValueError, match="a name has 1 to 64"):
            act()
    assert list(tmp_path.iterdir()) == []


@ONE_ENGINE
def test_a_snapshot_of_another_collection_state_is_not_used(
    engine: str, saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = collection(engine)
    other_engine = next(each for each in NAMES if each != engine)
    for unfit in (
        replace(own, version=Version("another", 2)),
        replace(own, version=Version("epoch", 1)),  # the store was restored to an older state
        replace(own, settings=replace(own.settings, space="another")),
        replace(own, settings=replace(own.settings, dim=8)),
        replace(own, settings=replace(own.settings, index=other_engine)),
    ):
        assert refused(saved, unfit, caplog)
    assert snapshots.load(saved, replace(own, version=Version("epoch", 7))) is not None
    assert snapshots.load(saved, replace(own, settings=replace(own.settings, index="auto"))) is not None


@ONE_ENGINE
def test_a_snapshot_of_another_format_is_not_used(
    saved: Path, engine: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(snapshots, "FORMAT", snapshots.FORMAT + 1)
    assert refused(saved, collection(engine), caplog)


def test_without_a_snapshot_nothing_is_loaded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for folder in (tmp_path / "nothing", tmp_path):
        assert refused(folder, collection("exact"), caplog)


@ONE_ENGINE
def test_a_failed_save_keeps_the_previous_snapshot(saved: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = two_states(engine)
    with monkeypatch.context() as full_disk:
        full_disk.setattr(snapshots, "_publish", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space left"):
            snapshots.save(saved, first, settings(engine))
    loaded = snapshots.load(saved, collection(engine))
    assert loaded is not None
    assert content(loaded) == content(second)
    assert len(list(saved.iterdir())) == 4


@ONE_ENGINE
def test_a_copy_equals_the_newest_snapshot_also_during_a_save(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = two_states(engine)
    folder, copyfile = tmp_path / "c", shutil.copyfile
    snapshots.save(folder, old, settings(engine))
    replaced = iter([True])

    def late(source: Path, target: Path) -> None:
        if source.name.startswith("rows") and next(replaced, False):
            snapshots.save(folder, new, settings(engine))
        copyfile(source, target)

    monkeypatch.setattr(shutil, "copyfile", late)
    snapshots.copy(folder, tmp_path / "copy")
    copied = snapshots.load(tmp_path / "copy", collection(engine))
    assert copied is not None
    assert content(copied) == content(new)
    assert names(tmp_path / "copy") == names(folder), "no files of the old snapshot"


@ONE_ENGINE
def test_an_unusable_snapshot_is_not_copied(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    next(saved.glob("rows-*")).unlink()
    snapshots.copy(saved, target)
    (saved / snapshots.MANIFEST).write_text("{}")
    snapshots.copy(saved, target)
    snapshots.copy(tmp_path / "nothing", target)
    assert not target.exists()


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}
