"""Writes, saves and rebuilds a collection and dies at every step of it, one step further each time; see test_dying.py.

    python -m tests.integration.dying_writes FOLDER

prints a line for every death, and a last line, "survived". Steps are every SQL statement and every commit before it
runs, and every fsync, rename, opening and removal of a file, in whatever thread.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from sqlalchemy import Engine, event

from semblance.models.embeddings import Floats
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.indexes import collection_index
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import CollectionSettings, Document, Embedded, Write
from semblance.service.ports.indexes import Hit
from semblance.service.replication.local_node import LocalCollections
from semblance.service.usecases.verify import verify
from tests.support.drawn_vectors import drawn
from tests.support.dying import DEAD, Death, in_a_process

DIM = 8
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "auto", "int8")
State: TypeAlias = Mapping[str, int]  # what a collection holds: the seed of each document, by id

# what is done one after the other, and what the collection holds after it; None where nothing changes
SCRIPT: tuple[tuple[str, State | None], ...] = (
    ("upsert", {"a": 1, "b": 2, "c": 3, "d": 4}),
    ("delete a", {"b": 2, "c": 3, "d": 4}),
    ("upsert", {"b": 5, "c": 3, "d": 4, "a": 6}),
    ("save", None),
    ("upsert", {"b": 7, "c": 8, "d": 9, "a": 10}),
    ("upsert", {"b": 11, "c": 12, "d": 13, "a": 14}),  # now the index has many dead rows, and is built anew beside
    ("delete b", {"c": 12, "d": 13, "a": 14}),
    ("rebuild", None),
    ("upsert", {"c": 12, "d": 13, "a": 15}),
    ("recreate", {}),
    ("upsert", {"c": 16, "z": 17}),
    ("save", None),
)


def opened(home: Path) -> LocalCollections:
    collection_index.SPARE_ROWS = 4  # so that a handful of documents wears an index out
    return LocalCollections(SqlDocumentStore(sqlite_engine(home / "documents.sqlite")), IndexFolder(home / "indexes"))


async def perform(local: LocalCollections, action: str, before: State, after: State) -> None:
    """One line of the script."""
    match action.split():
        case ["upsert"]:
            writes = [
                Write(Document(doc_id, f"text {seed}", {"n": seed}), Embedded(drawn(seed, DIM), False, b"codes", 0.1))
                for doc_id, seed in after.items()
                if before.get(doc_id) != seed
            ]
            await local.write("c", lambda store: store.upsert(store.collection("c"), writes))
        case ["delete", doc_id]:
            await local.write("c", lambda store: store.delete("c", doc_id))
        case ["save"]:
            await local.save()
        case ["rebuild"]:
            await local.rebuild("c")
        case ["recreate"]:
            await local.drop("c")
            await local.write("c", lambda store: store.create("c", SETTINGS))


def live(home: Path, done: Path) -> None:
    """The whole script; every line of it is noted in `done` once it is over."""

    async def use() -> None:
        local = opened(home)
        await local.follow_all()
        state: State = {}
        for action, after in SCRIPT:
            await perform(local, action, state, after if after is not None else state)
            state = after if after is not None else state
            with done.open("ab", buffering=0) as stream:
                stream.write(b"x")
        local.close()

    asyncio.run(use())


def count_steps(home: Path, at: int) -> None:
    """Die at that step of this process; statements and commits are steps as well."""
    death = Death(home, at)
    death.take_over()
    for name in ("before_cursor_execute", "commit"):
        event.listen(Engine, name, lambda *_: death.step())


def states() -> list[State]:
    """What the collection holds before the script and after each line of it."""
    passed: list[State] = [{}]
    for _, after in SCRIPT:
        passed.append(passed[-1] if after is None else after)
    return passed


def look(home: Path, done: Path) -> None:
    """Start on what the death left; raise if anything that was noted is lost, or anything does not fit together."""
    lines = done.stat().st_size if done.exists() else 0

    async def use() -> None:
        local = opened(home)
        await local.follow_all()
        allowed = states()[lines : lines + 2]  # what was under way at the death may be there or not
        if SCRIPT[min(lines, len(SCRIPT) - 1)][0] == "recreate" and "c" not in await names(local):
            await local.write("c", lambda store: store.create("c", SETTINGS))  # it died between the two halves
        documents = await local.read(lambda store: store.scan("c", "", 100))
        held = {document.id: int(document.text.split()[1]) for document in documents}
        assert held in allowed, f"{held} after {lines} lines"
        assert all(document.metadata == {"n": held[document.id]} for document in documents)
        _, index = await local.current("c", None)
        for seed in range(18):
            assert_close(index.search(drawn(seed, DIM)[None], 10, None)[1][0], exhaustive(held, drawn(seed, DIM)))
        await perform(local, "upsert", held, {**held, "next": 99})
        assert index.search(drawn(99, DIM)[None], 1, None)[1][0][0].id == "next"
        local.close()

    asyncio.run(use())
    store = SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))
    faults = [
        *store.damage(),
        *(fault for each in verify(store, IndexFolder(home / "indexes")) for fault in each.faults),
    ]
    assert not faults, faults
    store.close()


async def names(local: LocalCollections) -> list[str]:
    return [collection.name for collection in await local.read(lambda store: store.collections())]


def exhaustive(held: State, query: Floats) -> list[Hit]:
    vectors = {doc_id: drawn(seed, DIM).astype(np.float64) for doc_id, seed in held.items()}
    hits = [Hit(doc_id, float(vector @ query.astype(np.float64))) for doc_id, vector in vectors.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def assert_close(found: list[Hit], expected: list[Hit]) -> None:
    assert [hit.id for hit in found] == [hit.id for hit in expected]
    assert np.allclose([hit.score for hit in found], [hit.score for hit in expected], atol=1e-5)


def main(folder: Path) -> None:
    """Die and look, until the script survives."""
    prepared, home, done = folder / "prepared", folder / "home", folder / "done"
    store = SqlDocumentStore(sqlite_engine(prepared / "documents.sqlite"))
    store.create("c", SETTINGS)
    store.close()
    status, step = DEAD, 0
    while status == DEAD:
        step += 1
        shutil.rmtree(home, ignore_errors=True)
        done.unlink(missing_ok=True)
        shutil.copytree(prepared, home)

        def live_and_die(at: int = step) -> None:
            count_steps(home, at)
            live(home, done)

        status = in_a_process(live_and_die)
        if in_a_process(lambda: look(home, done)):
            print(f"wrong after a death at step {step}")
            sys.exit(1)
        print("dead" if status == DEAD else "survived" if status == 0 else f"failed with {status}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
