"""Laws of copies of a store: however it is copied, a copy ends equal to the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, Table, select

from semblance.models.embeddings import unit_rows
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.schema import collections, commits, documents, token_codes, vectors
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import NoReembedding, ReembeddingDiffers, ReembeddingUnfinished
from semblance.service.ports.documents import CollectionSettings, Document, DocumentEmbedding, Reembedding, Write
from semblance.service.replication.copier import Copier, DirectWriter

DIM = 4
SETTINGS = CollectionSettings("minilm", "space-0", DIM, "cosine", "exact", "int8")
TITLED = replace(SETTINGS, text_fields=("title",))
NAMES = ("c", "d")
Step: TypeAlias = tuple[str, str, int]


def embedding(space: str, text: str) -> DocumentEmbedding:
    """Deterministic embedding of a text in a space."""
    seed = [ord(character) for character in space + text]
    spans = np.array([(0, 1), (1, 2)], np.int32) if len(text) % 3 == 2 else None
    passages = 1 if spans is None else 2
    return DocumentEmbedding(
        vectors=unit_rows(np.random.default_rng(seed).normal(size=(passages, DIM))).astype(np.float32),
        truncated=len(text) % 2 == 1,
        spans=spans,
        codes=[f"{space}{text}{i}".encode() for i in range(passages)],
        code_error=0.01,
    )


class Writer:
    """Performs the operations of a deployment on its store; skips those that are not possible."""

    def __init__(self, store: SqlDocumentStore) -> None:
        self.store = store
        self._spaces = 0

    def perform(self, step: Step) -> None:
        action, name, number = step
        if name not in {each.name for each in self.store.collections()}:
            self.store.create(name, TITLED if name == "d" else SETTINGS)
        steps: dict[str, Callable[[str, int], object]] = {
            "upsert": self.upsert,
            "relabel": self.relabel,
            "delete": self.delete,
            "recreate": self.recreate,
            "begin": self.begin,
            "fill": self.fill,
            "switch": self.switch,
            "drop_reembedding": lambda name, _: self.store.drop_reembedding(name),
            "gloss": lambda name, number: self.store.set_glossary(name, str(number)),
        }
        steps[action](name, number)

    def upsert(self, name: str, number: int) -> None:
        collection = self.store.collection(name)
        next_space = collection.reembedding and collection.reembedding.space
        writes = []
        for i in range(number % 4 + 1):
            document = Document(f"{(number + i) % 7}", f"text {number // 3} of {i}", {"title": f"{number % 3}"})
            text = document.searched(collection.settings.text_fields).whole
            rolled = embedding(next_space, text) if next_space else None
            writes.append(Write(document, embedding(collection.settings.space, text), rolled))
        self.store.upsert(collection, writes)

    def relabel(self, name: str, number: int) -> None:
        for document in self.store.scan(name, "", 2)[0]:
            changed = Document(document.id, document.text, {**document.metadata, "label": number})
            self.store.upsert(self.store.collection(name), [Write(changed, None)])

    def delete(self, name: str, number: int) -> None:
        if self.store.get(name, [f"{number % 7}"]):
            self.store.delete(name, f"{number % 7}")

    def recreate(self, name: str, number: int) -> None:
        self.store.drop(name)
        if number % 2:
            self.store.create(name, TITLED)

    def begin(self, name: str, number: int) -> None:
        collection = self.store.collection(name)
        if collection.reembedding is None:
            self._spaces += 1
            self.store.begin_reembedding(collection, Reembedding(f"model-{number}", f"space-{self._spaces}", DIM))

    def fill(self, name: str, number: int) -> None:
        collection = self.store.collection(name)
        if collection.reembedding is not None:
            _, some = self.store.unfilled(name, number % 5 + 1)
            space = collection.reembedding.space
            fields = collection.settings.text_fields
            self.store.fill(collection, [(each, embedding(space, each.searched(fields).whole)) for each in some])

    def switch(self, name: str, number: int) -> None:
        if self.store.collection(name).reembedding is not None:
            while self.store.unfilled(name, 1)[0]:
                self.fill(name, number)
            self.store.switch(name)


def dump(engine: Engine, table: Table, columns: list[str] | None = None) -> list[Any]:
    selected = [table.c[name] for name in columns or table.c.keys()]
    with engine.connect() as connection:
        return sorted((tuple(map(repr, row)) for row in connection.execute(select(*selected))), key=repr)


def assert_equal(primary: Engine, copy: Engine) -> None:
    """Assert that the copy equals the primary, without embeddings by other encoders."""
    for table in (collections, commits, documents, vectors, token_codes):
        assert dump(copy, table) == dump(primary, table)


ACTIONS = [
    "upsert",
    "upsert",
    "relabel",
    "delete",
    "recreate",
    "begin",
    "begin",
    "fill",
    "switch",
    "drop_reembedding",
    "gloss",
]
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.sampled_from(NAMES), st.integers(0, 20)), max_size=25)


@pytest.mark.slow
@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, pulls=st.sets(st.integers(0, 25)), page=st.integers(1, 9))
def test_a_copy_ends_equal_to_the_store_after_any_history(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, steps: list[Step], pulls: set[int], page: int
) -> None:
    writer = Writer(SqlDocumentStore(engine))
    for former in writer.store.collections():
        writer.store.drop(former.name)
    copy_engine = sqlite_engine(tmp_path_factory.mktemp("copy") / "copy.sqlite")
    copy = SqlDocumentStore(copy_engine)
    copier = Copier(writer.store, copy, DirectWriter())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("semblance.service.replication.change_feed.PAGE", page)
        for number, step in enumerate(steps):
            writer.perform(step)
            if number in pulls:
                for name in NAMES:
                    copier(name)
                assert_equal(engine, copy_engine)
        for name in NAMES:
            copier(name)
    assert_equal(engine, copy_engine)
    copy.close()


def test_a_switch_requires_every_document_to_be_re_embedded(engine: Engine) -> None:
    writer = Writer(SqlDocumentStore(engine))
    store = writer.store
    store.create("c", SETTINGS)
    writer.upsert("c", 3)
    with pytest.raises(NoReembedding):
        store.switch("c")
    begun = store.begin_reembedding(store.collection("c"), Reembedding("other", "space-b", DIM))
    assert store.begin_reembedding(begun, Reembedding("other", "space-b", DIM)) == begun, (
        "beginning again changes nothing"
    )
    with pytest.raises(ReembeddingDiffers, match="'other'"):
        store.begin_reembedding(begun, Reembedding("third", "space-c", DIM))
    before = store.collection("c").version
    with pytest.raises(ReembeddingUnfinished, match="4 documents"):
        store.switch("c")
    assert store.collection("c").version == before, "a refused switch leaves no version behind"
    writer.fill("c", 2)
    assert store.unfilled("c", 10)[0] == 1
    writer.fill("c", 2)
    version = store.switch("c")
    now = store.collection("c")
    assert (now.settings.model, now.settings.space, now.reembedding) == ("other", "space-b", None)
    assert now.version == version
    assert {row[2] for row in dump(engine, vectors)} == {"'space-b'"}


def test_a_document_changed_during_re_embedding_is_not_filled(engine: Engine) -> None:
    """Otherwise it would have the vector of its former text."""
    writer = Writer(SqlDocumentStore(engine))
    store = writer.store
    store.create("c", SETTINGS)
    writer.upsert("c", 0)
    collection = store.begin_reembedding(store.collection("c"), Reembedding("other", "space-b", DIM))
    [read] = store.unfilled("c", 10)[1]
    changed = Write(Document("0", "changed", {}), embedding("space-0", "changed"))
    store.upsert(collection, [changed])
    store.fill(collection, [(read, embedding("space-b", read.text))])
    assert [document.text for document in store.unfilled("c", 10)[1]] == ["changed"]


def test_the_former_encoder_serves_the_copy_until_it_switches(engine: Engine, tmp_path: Path) -> None:
    """The store has deleted its vectors by then; the copy needs them for its searches."""
    writer = Writer(SqlDocumentStore(engine))
    writer.store.create("c", SETTINGS)
    writer.upsert("c", 3)
    copy_engine = sqlite_engine(tmp_path / "copy.sqlite")
    copy = SqlDocumentStore(copy_engine)
    seen: list[tuple[str, int, int]] = []

    class RecordingWriter(DirectWriter):
        def switch_with(self, name: str, act: Callable[[], Any]) -> None:
            spaces = [row[2] for row in dump(copy_engine, vectors)]
            here = copy.collection(name)
            seen.append((here.settings.space, spaces.count("'space-0'"), spaces.count("'space-1'")))
            assert here.version == before, "no version is recorded before the switch"
            read = copy.get_cut("c", [f"{i}" for i in range(7)]).documents
            unchanged = {doc_id for doc_id, document in read.items() if document.version <= before.number}
            assert unchanged == {"5", "6"}, "searches leave out documents of later versions"
            assert copy.get("c", [*read]) == read
            super().switch_with(name, act)

    copier = Copier(writer.store, copy, RecordingWriter())
    copier("c")
    before = copy.collection("c").version
    writer.begin("c", 1)
    writer.switch("c", 1)
    writer.upsert("c", 9)  # in the new space only
    relabeled = replace(writer.store.get("c", ["4"])["4"], metadata={"label": 1})
    writer.store.upsert(writer.store.collection("c"), [Write(relabeled, None)])
    copier("c")
    assert seen == [("space-0", 2, 5)], "of four, one was rewritten in the new space, one relabeled; a fifth is new"
    assert_equal(engine, copy_engine)
    copy.close()
