"""Files of a snapshot change under a running service: no answer is wrong, then or after a restart, nor unnoticed."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from semblance.models.tokenization.terms import query_terms
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import IndexDamaged
from semblance.service.filters import parse_filter
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import CollectionSettings, Document, Write
from semblance.service.ports.indexes import DocumentSelection, FacetQuery, HybridQuery
from semblance.service.replication.local_node import LocalNode
from semblance.service.usecases.maintenance.verify import verify
from tests.support.vectors import one_passage, unit_vector

DIM, DOCUMENTS = 4, 60
SETTINGS = CollectionSettings("m", "space", DIM, "cosine", "exact", "none")
TRIALS = int(os.environ.get("DAMAGED_SNAPSHOTS", "8"))  # of each file
FILES = ("index-", "rows-", "terms-", "manifest")


def document(number: int) -> Write:
    words = ("parcel", "river", "lamp", "train", "cat")
    text = f"a {words[number % 5]} and a {words[number % 3]}, no. {number}"
    metadata = {"n": number % 7, "tags": [words[number % 2], words[number % 4]]}
    return Write(Document(f"d{number}", text, metadata), one_passage(unit_vector(number, DIM)))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a service that has ended."""
    home = tmp_path_factory.mktemp("filled")
    store = SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))
    store.create("c", SETTINGS)
    store.upsert(store.collection("c"), [document(i) for i in range(DOCUMENTS)])
    store.upsert(store.collection("c"), [document(i) for i in range(0, DOCUMENTS, 4)])  # a version of its own
    store.close()
    return home


@asynccontextmanager
async def served(home: Path) -> AsyncIterator[LocalNode]:
    node = LocalNode(SqlDocumentStore(sqlite_engine(home / "documents.sqlite")), IndexFolder(home / "indexes"))
    await node.refresh_indexes()
    try:
        yield node
    finally:
        node.close()


async def write(node: LocalNode, number: int) -> None:
    await node.write("c", lambda store: store.upsert(store.collection("c"), [document(number)]))


async def answers(node: LocalNode) -> Any:
    """By vector, by terms, by filter, counts and a list."""
    query = unit_vector(5, DIM)

    def ask(index: Any) -> Any:
        where = parse_filter({"tags": "river"})
        hybrid = index.search_hybrid(HybridQuery(query, query_terms("parcel lamp 12")), 10, None, 1)
        return (
            index.search(query[None], 10, None)[1],
            index.search(query[None], 10, where)[1],
            hybrid.hits,
            index.count(where, {"n": FacetQuery(10), "tags": FacetQuery(10)}).facets,
            index.select(DocumentSelection(where, 100)).ids,
        )

    for _ in range(3):  # damage that is noticed is answered by 503; a retry finds the index rebuilt
        _, index = await node.current("c", None)
        try:
            return await node.search(lambda _, index=index: ask(index))  # type: ignore[misc]
        except IndexDamaged:
            continue
    raise AssertionError("it is never rebuilt")


def faults(home: Path) -> list[str]:
    store = SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))
    try:
        [report] = verify(store, IndexFolder(home / "indexes"))
        return [*report.faults]
    finally:
        store.close()


def damage(home: Path, which: str, rng: random.Random) -> None:
    """Flip some bits of a file, or cut it, in place."""
    [file] = [each for each in (home / "indexes" / "c").iterdir() if each.name.startswith(which)]
    size = file.stat().st_size
    with file.open("r+b") as stream:
        if rng.random() < 0.25:
            stream.truncate(rng.randrange(size))
            return
        for _ in range(rng.choice((1, 8, 64))):
            place = rng.randrange(size)
            stream.seek(place)
            [byte] = stream.read(1)
            stream.seek(place)
            stream.write(bytes([byte ^ 1 << rng.randrange(8)]))


@pytest.mark.parametrize("changed", [False, True], ids=["nothing written", "written after"])
@pytest.mark.parametrize("which", FILES)
async def test_no_damage_gives_a_wrong_answer(filled: Path, tmp_path: Path, which: str, changed: bool) -> None:
    rng = random.Random(f"{which} {changed}")
    for trial in range(TRIALS):
        home = Path(shutil.copytree(filled, tmp_path / str(trial)))
        async with served(home) as node:  # without a snapshot
            expected = await answers(node)
        assert faults(home) == []
        async with served(home) as node:  # from its snapshot
            assert await answers(node) == expected
            damage(home, which, rng)
            assert await answers(node) == expected, "the running service reads no changed file"
            if changed:
                await write(node, DOCUMENTS)
                expected = await answers(node)
        found = faults(home)
        assert bool(found) != changed, f"{found}: what was saved again is sound, and else the damage is named"
        async with served(home) as node:
            assert await answers(node) == expected
        assert faults(home) == []


async def test_an_index_that_was_saved_wrong_is_named_and_rebuilt(filled: Path, tmp_path: Path) -> None:
    """As earlier releases did: the digests are right, and the content is not."""
    home = Path(shutil.copytree(filled, tmp_path / "home"))
    async with served(home) as node:
        expected = await answers(node)
    wrong: dict[str, Callable[[Any], object]] = {
        "a value": lambda rows: rows._postings.remove(3, {"n": 3}),
        "a surplus value": lambda rows: rows._postings.add(3, {"n": 5}),
        "a term": lambda rows: rows.bm25._terms.add(70, {"parcel": 1}),
        "metadata": lambda rows: rows._changed.update({3: {"n": 99}}),
    }
    for name, spoil in wrong.items():
        store = SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))
        folder = IndexFolder(home / "indexes")
        collection = store.collection("c")
        index = folder.load(collection, lambda _: {})
        assert isinstance(index, CollectionIndex)
        spoil(index._documents)
        folder.save(collection, index)
        store.close()
        assert faults(home), name
        shutil.rmtree(home / "indexes")
        async with served(home) as node:
            assert await answers(node) == expected
    assert faults(home) == []
