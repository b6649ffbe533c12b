"""Write, save and rebuild a collection, and crash one step later on each run; see test_crashes.py.

    python -m tests.integration.crashing_writes FOLDER EVERY

crashes at every EVERYth step, prints a line for each crash, and a last line, "survived". Steps are every SQL statement
and commit, before it runs, and every fsync, rename, open and removal of a file, in any thread.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sqlalchemy import Engine, event

from semblance.models import catalogue
from semblance.models.alignment.quantized_tokens import quantize
from semblance.models.embeddings import Floats, TokenEmbeddings
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.indexes import collection_index
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import CollectionSettings, Document, DocumentEmbedding, Write
from semblance.service.ports.indexes import ENGINES, Hit, PassageHit
from semblance.service.replication.local_node import LocalNode
from semblance.service.usecases.maintenance.verify import verify
from tests.support.crash_point import CRASHED, CrashPoint, run_in_fork
from tests.support.vectors import unit_vector

DIM = 8
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "auto", "int8", text_fields=("title",))
State: TypeAlias = Mapping[str, int]  # expected content of a collection: the seed of each document, by id

# operations in order, and the content of the collection after each; None where it does not change
SCRIPT: tuple[tuple[str, State | None], ...] = (
    ("upsert", {"a": 1, "b": 2, "c": 3, "d": 4}),
    ("lead c", None),
    ("delete a", {"b": 2, "c": 3, "d": 4}),
    ("lead d", None),
    ("upsert", {"b": 5, "c": 3, "d": 4, "a": 6}),
    ("save", None),
    ("gloss 1", None),
    ("upsert", {"b": 7, "c": 8, "d": 9, "a": 10}),
    ("upsert", {"b": 11, "c": 12, "d": 13, "a": 14}),  # with its dead rows, the index is rebuilt now
    ("rebuild", None),
    ("gloss 2", None),
    ("upsert", {"b": 11, "c": 12, "d": 13, "a": 15}),
    ("lead c", None),
    ("recreate", {}),  # which deletes the alias
    ("upsert", {"c": 16, "z": 17}),
    ("save", None),
)


def opened(home: Path) -> LocalNode:
    collection_index.SPARE_ROWS = 4  # so that few documents make a rebuild necessary
    return LocalNode(SqlDocumentStore(sqlite_engine(home / "documents.sqlite")), IndexFolder(home / "indexes"))


def vectors_of(seed: int) -> Floats:
    """Vectors of the passages of a text: one, two or three."""
    return np.stack([unit_vector(seed + 1000 * i, DIM) for i in range(1 + seed % 3)])


def metadata_of(seed: int) -> dict[str, Any]:
    return {"n": seed, "title": f"title {seed}"}


def embedding(seed: int) -> DocumentEmbedding:
    """An embedding of passages, each with the codes of two tokens."""
    vectors = vectors_of(seed)
    tokens = np.stack([unit_vector(seed, DIM), unit_vector(seed + 1, DIM)])
    codes, error = quantize(TokenEmbeddings(tokens, np.ones(2, np.float32)))
    spans = np.array([(i, i + 2) for i in range(len(vectors))], np.int32)
    return DocumentEmbedding(vectors, False, spans if len(vectors) > 1 else None, [codes] * len(vectors), error)


async def perform(local: LocalNode, action: str, before: State, after: State) -> None:
    """Perform one line of the script."""
    match action.split():
        case ["upsert"]:
            writes = [
                Write(Document(doc_id, f"text {seed}", metadata_of(seed)), embedding(seed))
                for doc_id, seed in after.items()
                if before.get(doc_id) != seed
            ]
            await local.write("c", lambda store: store.upsert(store.collection("c"), writes))
        case ["delete", doc_id]:
            await local.write("c", lambda store: store.delete("c", doc_id))
        case ["gloss", glossary]:
            await local.write("c", lambda store: store.set_glossary("c", glossary))
        case ["lead", name]:
            await local.write(name, lambda store: store.set_alias("now", name))
        case ["save"]:
            await local.save()
        case ["rebuild"]:
            await local.rebuild("c")
        case ["recreate"]:
            await local.drop("c")
            await local.write("c", lambda store: store.create("c", SETTINGS))


def run_script(home: Path, done: Path) -> None:
    """Perform the whole script; a byte in `done` records each completed line."""

    async def use() -> None:
        local = opened(home)
        await local.refresh_indexes()
        state: State = {}
        for action, after in SCRIPT:
            await perform(local, action, state, after if after is not None else state)
            state = after if after is not None else state
            with done.open("ab", buffering=0) as stream:
                stream.write(b"x")
        local.close()

    asyncio.run(use())


def crash_at(home: Path, at: int) -> None:
    """Crash at a step of this process; statements and commits are steps as well."""
    crash = CrashPoint(home, at)
    crash.install()
    for name in ("before_cursor_execute", "commit"):
        event.listen(Engine, name, lambda *_: crash.step())


def states() -> list[State]:
    """Contents of the collection before the script and after each line of it."""
    contents: list[State] = [{}]
    for _, after in SCRIPT:
        contents.append(contents[-1] if after is None else after)
    return contents


def glossaries() -> list[str]:
    """The glossary of the collection before the script and after each line of it."""
    found = [""]
    for action, _ in SCRIPT:
        now = action.removeprefix("gloss ")
        found.append("" if action == "recreate" else now if now != action else found[-1])
    return found


def aliases() -> list[Mapping[str, str]]:
    """Aliases before the script and after each line of it."""
    leads: list[Mapping[str, str]] = [{}]
    for action, _ in SCRIPT:
        match action.split():
            case ["lead", name]:
                leads.append({"now": name})
            case ["recreate"]:
                leads.append({})
            case _:
                leads.append(leads[-1])
    return leads


def check_files(home: Path, done: Path) -> None:
    """Start on the files that the crash left; raise if a completed line is lost, or the files are inconsistent."""
    lines = done.stat().st_size if done.exists() else 0

    async def use() -> None:
        local = opened(home)
        await local.refresh_indexes()
        allowed = states()[lines : lines + 2]  # the line that was running at the crash may be done or not
        assert await local.read(lambda store: store.aliases()) in aliases()[lines : lines + 2]
        if SCRIPT[min(lines, len(SCRIPT) - 1)][0] == "recreate" and "c" not in await names(local):
            await local.write("c", lambda store: store.create("c", SETTINGS))  # it crashed between drop and create
        documents, _ = await local.read(lambda store: store.scan("c", "", 100))
        stored = {document.id: int(document.text.split()[1]) for document in documents}
        assert stored in allowed, f"{stored} after {lines} lines"
        collection = await local.read(lambda store: store.collection("c"))
        assert collection.glossary in glossaries()[lines : lines + 2]
        assert all(document.metadata == metadata_of(stored[document.id]) for document in documents)
        _, index = await local.current("c", None)
        for query in (unit_vector(seed, DIM) for seed in range(18)):
            assert_close(index.search(query[None], 10, None)[1][0], exhaustive(stored, query))
        await perform(local, "upsert", stored, {**stored, "next": 99})
        _, index = await local.current("c", None)  # a rebuild may have replaced it
        assert index.search(unit_vector(99, DIM)[None], 1, None)[1][0][0].id == "next"
        local.close()

    asyncio.run(use())
    store = SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))
    damaged = [each for each in verify(store, IndexFolder(home / "indexes")) if each.faults]
    assert not [*store.integrity_errors(), *damaged]
    store.close()


async def names(local: LocalNode) -> list[str]:
    return [collection.name for collection in await local.read(lambda store: store.collections())]


def exhaustive(stored: State, query: Floats) -> list[Hit]:
    scores = {doc_id: vectors_of(seed).astype(np.float64) @ query.astype(np.float64) for doc_id, seed in stored.items()}
    hits = [
        Hit(doc_id, float(max(each)), [PassageHit(int(np.argmax(each)), float(max(each)))])
        for doc_id, each in scores.items()
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def assert_close(found: list[Hit], expected: list[Hit]) -> None:
    assert [(hit.id, hit.passages[0].number) for hit in found] == [(hit.id, hit.passages[0].number) for hit in expected]
    assert np.allclose([hit.score for hit in found], [hit.score for hit in expected], atol=1e-5)


def main(folder: Path, every: int) -> None:
    """Crash at every `every`-th step and check, until the script survives."""
    catalogue.find(ENGINES, "faiss_flat")  # imported once, not by every process below
    prepared, home, done = folder / "prepared", folder / "home", folder / "done"
    store = SqlDocumentStore(sqlite_engine(prepared / "documents.sqlite"))
    store.create("c", SETTINGS)
    store.create("d", SETTINGS)
    store.close()
    status, step = CRASHED, 1 - every
    while status == CRASHED:
        step += every
        shutil.rmtree(home, ignore_errors=True)
        done.unlink(missing_ok=True)
        shutil.copytree(prepared, home)

        def run_and_crash(at: int = step) -> None:
            crash_at(home, at)
            run_script(home, done)

        status = run_in_fork(run_and_crash)
        if run_in_fork(lambda: check_files(home, done)):
            print(f"wrong after a crash at step {step}")
            sys.exit(1)
        print("crashed" if status == CRASHED else "survived" if status == 0 else f"failed with {status}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
