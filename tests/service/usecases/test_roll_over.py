"""A collection rolls over to another model beside its writers and searchers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, Table, select

from semblance.models.catalogue import similarity
from semblance.models.errors import SemblanceError
from semblance.models.measures.quantized_tokens import encode_tokens
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.caches.memory import MemoryCache
from semblance.service.documents.schema import token_codes, vectors
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import (
    InvalidRequest,
    NoRollover,
    RolloverDiffers,
    RolloverUnfinished,
    SpaceMismatch,
    UnknownDocument,
    UnknownModel,
)
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import CollectionSettings, Document, DocumentStore, Rollover, Write
from semblance.service.replication.local_node import LocalCollections
from semblance.service.usecases import roll_over
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed_documents import DocumentEmbedder
from semblance.service.usecases.embed_texts import Given, TextEmbedder
from semblance.service.usecases.index_documents import IndexDocuments
from semblance.service.usecases.roll_over import RollOver
from semblance.service.usecases.search import Search, SearchFor, SearchResults
from tests.support.drawn_encoder import DrawnEncoder

Result = TypeVar("Result")
Step: TypeAlias = tuple[str, int]

OLD = DrawnEncoder("old", "space-a", 8)
NEW = DrawnEncoder("new", "space-b", 6, unread="zzz")
OTHER = DrawnEncoder("other", "space-c", 4)
ALL = {each.name: each for each in (OLD, NEW, OTHER)}
WORDS = ("cat", "dog", "tax", "law", "moon", "tea", "rain", "zzz")


class Served:
    """The models of this process."""

    def __init__(self, encoders: Mapping[str, DrawnEncoder]) -> None:
        self._encoders = encoders

    async def get(self, name: str | None) -> DrawnEncoder:
        if name is None or name not in self._encoders:
            raise UnknownModel(f"no model {name!r} is served")
        return self._encoders[name]


class Intruding(LocalCollections):
    """Lets a test in once, between what a step reads and what it writes."""

    intrusion: Callable[[], object] | None = None

    async def read_truth(self, query: Callable[[DocumentStore], Result]) -> Result:
        found = await super().read_truth(query)
        if self.intrusion is not None:
            intrude, self.intrusion = self.intrusion, None
            intrude()
        return found


@dataclass(frozen=True)
class Process:
    """One process on a store."""

    store: SqlDocumentStore
    local: Intruding
    index: IndexDocuments
    roll: RollOver
    search: Search

    async def put(self, *documents: tuple[str, str]) -> None:
        await self.index("c", [Document(doc_id, text, {}) for doc_id, text in documents])

    async def fill(self) -> None:
        while (await self.roll.step("c")).left:
            pass

    async def ask(self, text: str, measure: str | None = None) -> SearchResults:
        return await self.search(SearchFor([Given(text, "/query")], "c", k=50, candidates=50, measure=measure))


@asynccontextmanager
async def process(engine: Engine, folder: Path, encoders: Mapping[str, DrawnEncoder] = ALL) -> AsyncIterator[Process]:
    store = SqlDocumentStore(engine)
    metrics = Metrics()
    worker = Worker(Limits(4096, 10_000, 10_000), metrics, idle_check_s=60)
    local = Intruding(store, IndexFolder(folder / "indexes"))
    texts = TextEmbedder(worker, MemoryCache(1 << 20), metrics, 1000)
    served = Served(encoders)
    collections = Collections(served, local)
    embedder = DocumentEmbedder(texts)
    index = IndexDocuments(collections, local, embedder)
    search = Search(collections, local, texts, max_scores=10_000)
    try:
        yield Process(store, local, index, RollOver(served, collections, local, embedder), search)
    finally:
        await asyncio.to_thread(local.close)
        await asyncio.to_thread(worker.stop)


def made_by(encoder: DrawnEncoder) -> CollectionSettings:
    return CollectionSettings(encoder.name, encoder.space, encoder.dim, "cosine", "exact", "int8")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return sqlite_engine(tmp_path / "documents.sqlite")


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll_over, "STEP", 3)


def run(act: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(act())


def rows(engine: Engine, table: Table) -> dict[tuple[str, str], bytes]:
    """What the table holds of "c", by document and space."""
    content = table.c.vector if table is vectors else table.c.codes
    with engine.connect() as connection:
        found = connection.execute(select(table.c.id, table.c.space, content).where(table.c.collection == "c"))
        return {(row[0], row[1]): row[2] for row in found}


def require_embedded(engine: Engine, texts: Mapping[str, str], *encoders: DrawnEncoder) -> None:
    """Every document has just the vectors and codes that those encoders make of its text, and nobody else has any."""
    expected_vectors, expected_codes = {}, {}
    for encoder in encoders:
        for doc_id, text in texts.items():
            expected_vectors[doc_id, encoder.space] = encoder.vector(text).astype("<f4").tobytes()
            [tokens] = encoder.encode(encoder.tokenize([text], "document", "END"), "tokens")
            expected_codes[doc_id, encoder.space] = encode_tokens(tokens)[0]
    assert rows(engine, vectors) == expected_vectors
    assert rows(engine, token_codes) == expected_codes


def require_true(results: SearchResults, query: str) -> None:
    """Every score is that of the text it comes with, by the model that the answer names."""
    encoder = ALL[results.encoder.name]
    asked = encoder.vector(query).astype(np.float64)
    for hit in results.hits[0]:
        assert hit.score == pytest.approx(float(asked @ encoder.vector(hit.document.text)), abs=1e-5)


def require_measured(results: SearchResults, query: str) -> None:
    """The same by RCMD's first half, from token codes, which are a little off."""
    encoder = ALL[results.encoder.name]
    measured = similarity("rcmd1")
    [asked] = encoder.encode(encoder.tokenize([query], "query", "END"), "tokens")
    for hit in results.hits[0]:
        [text] = encoder.encode(encoder.tokenize([hit.document.text], "document", "END"), "tokens")
        assert hit.score == pytest.approx(measured.score(asked, text), abs=0.02)


class Life:
    """Does to a collection what users and operators do, and remembers what it should hold."""

    def __init__(self, at: Process) -> None:
        self.at = at
        self.texts: dict[str, str] = {}
        self.serves = OLD

    async def perform(self, step: Step) -> None:
        action, number = step
        steps: dict[str, Callable[[int], Awaitable[None]]] = {
            "put": self.put,
            "relabel": self.relabel,
            "delete": self.delete,
            "begin": self.begin,
            "step": self.step,
            "switch": self.switch,
            "drop": self.drop,
        }
        await steps[action](number)

    async def put(self, number: int) -> None:
        documents = {str((number + i) % 6): f"{WORDS[(number + i) % 6]} {WORDS[number % 5]} {number}" for i in range(3)}
        await self.at.put(*documents.items())
        self.texts |= documents

    async def relabel(self, number: int) -> None:
        changed = [Document(doc_id, text, {"n": number}) for doc_id, text in self.texts.items()]
        if changed:
            await self.at.index("c", changed)

    async def delete(self, number: int) -> None:
        if self.texts.pop(str(number % 6), None) is not None:
            await self.at.index.delete("c", str(number % 6))

    async def begin(self, number: int) -> None:
        rollover = self.at.store.collection("c").rollover
        model = rollover.model if rollover else list(ALL)[number % 3]
        collection, _ = await self.at.roll.begin("c", model)
        assert (collection.rollover is None) == (model == self.serves.name)

    async def step(self, _: int) -> None:
        if self.at.store.collection("c").rollover is None:
            with pytest.raises(NoRollover):
                await self.at.roll.step("c")
        else:
            before = self.at.store.unfilled("c", 0)[0]
            done = await self.at.roll.step("c")
            assert (done.embedded, done.left) == (min(before, 3), before - min(before, 3))
            assert done.version == self.at.store.collection("c").version

    async def switch(self, _: int) -> None:
        rollover = self.at.store.collection("c").rollover
        if rollover is None:
            with pytest.raises(NoRollover):
                await self.at.roll.switch("c")
            return
        if self.at.store.unfilled("c", 0)[0]:
            with pytest.raises(RolloverUnfinished):
                await self.at.roll.switch("c")
            await self.at.fill()
        assert await self.at.roll.switch("c") == self.at.store.collection("c").version
        self.serves = ALL[rollover.model]

    async def drop(self, _: int) -> None:
        await self.at.roll.drop("c")

    async def require_right(self) -> None:
        """A search finds all there is, by the model that serves."""
        results = await self.at.ask("cat law")
        assert results.encoder is self.serves
        assert results.version == self.at.store.collection("c").version
        assert {hit.document.id: hit.document.text for hit in results.hits[0]} == self.texts
        require_true(results, "cat law")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "relabel", "delete", "begin", "begin", "step", "step", "switch", "drop"]),
        st.integers(0, 20),
    ),
    max_size=20,
)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_whatever_happens_meanwhile_it_ends_as_if_embedded_from_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    folder = tmp_path_factory.mktemp("home")
    engine = sqlite_engine(folder / "documents.sqlite")

    async def use() -> None:
        async with process(engine, folder) as at:
            at.store.create("c", made_by(OLD))
            life = Life(at)
            for step in steps:
                await life.perform(step)
                await life.require_right()
            for step in ("begin", 1), ("switch", 0):
                await life.perform(step)
            await life.require_right()
            require_embedded(engine, life.texts, life.serves)

    run(use)


class Traffic:
    """Writers and searchers beside a roll-over."""

    def __init__(self, at: Process) -> None:
        self.at = at
        self.texts: dict[str, str] = {}
        self.served: list[str] = []
        self._written = [asyncio.Event(), asyncio.Event()]  # by each writer, since the last roll-over
        self._chance = random.Random(5)
        self._over = False

    async def write(self, mine: int) -> None:
        while not self._over:
            doc_id = f"{mine}-{self._chance.randrange(8)}"
            if doc_id in self.texts and self._chance.random() < 0.3:
                await self.at.index.delete("c", doc_id)
                del self.texts[doc_id]
            else:
                text = f"{self._chance.choice(WORDS)} {self._chance.randrange(50)}"
                await self.at.put((doc_id, text))
                self.texts[doc_id] = text
            self._written[mine].set()

    async def look(self, measure: str | None) -> None:
        while not self._over:
            results = await self.at.ask("cat law", measure)
            if measure is None:
                require_true(results, "cat law")
                self.served.append(results.encoder.name)
            else:
                require_measured(results, "cat law")

    async def roll(self, *models: str) -> None:
        for model in models:
            await self.at.roll.begin("c", model)
            await self.at.fill()
            version = await self.at.roll.switch("c")
            now = await self.at.ask("cat law")
            assert (now.encoder.name, now.version.number >= version.number) == (model, True)
            for written in self._written:  # several roll-overs within one write would have it give up
                written.clear()
                await written.wait()
        self._over = True


def test_every_answer_is_true_while_writers_and_a_roll_over_run_side_by_side(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            traffic = Traffic(at)
            users = traffic.write(0), traffic.write(1), traffic.look(None), traffic.look("rcmd1")
            await asyncio.gather(*users, traffic.roll("new", "other", "old", "new"))
            require_embedded(engine, traffic.texts, NEW)
            found = (await at.ask("cat law")).hits[0]
            assert {hit.document.id: hit.document.text for hit in found} == traffic.texts
            turns = [name for i, name in enumerate(traffic.served) if i == 0 or traffic.served[i - 1] != name]
            assert turns == ["old", "new", "other", "old", "new"][: len(turns)], "no answer is of a former model"
            assert len(turns) >= 3

    run(use)


def test_until_the_switch_the_present_model_answers_and_then_the_next(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            await at.put(("1", "cat law"), ("2", "dog"), ("3", "tea rain"), ("4", "moon"))
            _, size = await at.roll.begin("c", "new")
            assert size.unfilled == 4
            await at.fill()
            await at.put(("5", "rain moon"), ("1", "cat law tax"))
            assert at.store.sizes(["c"])[0][1].unfilled == 0, "what is written meanwhile is embedded by both"
            before = await at.ask("cat")
            assert (before.encoder, len(before.hits[0])) == (OLD, 5)
            require_true(before, "cat")
            version = await at.roll.switch("c")
            after = await at.ask("cat")
            assert (after.encoder, after.version) == (NEW, version)
            require_true(after, "cat")
            _, index = await at.local.current("c", version)
            assert index.version == version
            assert index.vectors(["1"])["1"].shape == (6,)

    run(use)


def test_a_dropped_roll_over_leaves_nothing(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            await at.put(*((str(i), f"{word} {i}") for i, word in enumerate(WORDS)))
            await at.roll.begin("c", "other")
            await at.roll.step("c")
            await at.put(("late", "tea"))
            assert {space for _, space in rows(engine, vectors)} == {"space-a", "space-c"}
            await at.roll.drop("c")
            version = at.store.collection("c").version
            await at.roll.drop("c")
            assert at.store.collection("c").version == version, "there was none any more"
            texts = {str(i): f"{word} {i}" for i, word in enumerate(WORDS)} | {"late": "tea"}
            require_embedded(engine, texts, OLD)
            await at.put(("later", "rain"))
            require_embedded(engine, texts | {"later": "rain"}, OLD)

    run(use)


def test_begun_twice_it_is_one_and_another_has_to_wait(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            nothing, _ = await at.roll.begin("c", "old")
            assert (nothing.rollover, nothing.version.number) == (None, 0)
            first, _ = await at.roll.begin("c", "new")
            assert await at.roll.begin("c", "new") == (first, at.store.sizes(["c"])[0][1])
            for another in ("old", "other"):
                with pytest.raises(RolloverDiffers, match="'new'"):
                    await at.roll.begin("c", another)
            with pytest.raises(UnknownModel, match="nosuch"):
                await at.roll.begin("c", "nosuch")

    run(use)


def test_of_two_who_begin_different_ones_at_once_one_is_refused(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            both = await asyncio.gather(
                *(at.roll.begin("c", model) for model in ("new", "other")), return_exceptions=True
            )
            refused = [each for each in both if isinstance(each, SemblanceError)]
            assert [type(each) for each in refused] == [RolloverDiffers]

    run(use)


def test_a_step_that_was_overtaken_by_another_roll_over_embeds_for_that(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            await at.put(("1", "cat"), ("2", "dog"))
            await at.roll.begin("c", "new")

            def replace() -> None:
                at.store.drop_rollover("c")
                rollover = Rollover("other", "space-c", 4)
                at.store.begin_rollover(at.store.collection("c"), rollover)

            at.local.intrusion = replace
            assert (await at.roll.step("c")).left == 0
            require_embedded(engine, {"1": "cat", "2": "dog"}, OLD, OTHER)

    run(use)


def test_a_document_changed_while_a_step_embeds_it_is_left_for_the_next(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            await at.put(("1", "cat"), ("2", "dog"))
            await at.roll.begin("c", "new")

            def relabel() -> None:
                changed = Document("1", "cat", {"label": 1})
                at.store.upsert(at.store.collection("c"), [Write(changed, None)])

            at.local.intrusion = relabel
            done = await at.roll.step("c")
            assert (done.embedded, done.left) == (2, 1)
            await at.fill()
            require_embedded(engine, {"1": "cat", "2": "dog"}, OLD, NEW)

    run(use)


def test_a_process_that_lacks_the_next_model_takes_no_writes_and_no_steps(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            await at.put(("1", "cat"))
            await at.roll.begin("c", "new")
        async with process(engine, tmp_path, {"old": OLD}) as at:
            for refused in (at.put(("2", "dog")), at.roll.step("c"), at.roll.switch("c"), at.index.require_open("c")):
                with pytest.raises(SpaceMismatch, match=r"'new'.*serve it too, or drop the roll-over"):
                    await refused
            require_true(await at.ask("cat"), "cat")
            await at.roll.drop("c")
            await at.put(("2", "dog"))
            require_embedded(engine, {"1": "cat", "2": "dog"}, OLD)

    run(use)


def test_a_collection_whose_model_is_gone_is_rescued_by_another(engine: Engine, tmp_path: Path) -> None:
    """Or by another version of it, under the same name."""

    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            await at.put(("1", "cat"))
        renewed = DrawnEncoder("old", "space-b", 6)
        async with process(engine, tmp_path, {"old": renewed}) as at:
            with pytest.raises(SpaceMismatch, match="another version of model 'old'"):
                await at.ask("cat")
            await at.roll.begin("c", "old")
            await at.fill()
            await at.roll.switch("c")
            assert [hit.document.id for hit in (await at.ask("cat")).hits[0]] == ["1"]
            require_embedded(engine, {"1": "cat"}, renewed)

    run(use)


def test_a_text_that_the_next_model_cannot_read_is_named_by_its_document(engine: Engine, tmp_path: Path) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            await at.put(("a", "cat"), ("b", "zzz"))
            await at.roll.begin("c", "new")
            with pytest.raises(InvalidRequest) as refused:
                await at.roll.step("c")
            assert [(each.pointer, each.code) for each in refused.value.problems] == [("/documents/b", "empty_text")]
            with pytest.raises(InvalidRequest) as refused:
                await at.put(("c", "dog"), ("d", "zzz"))
            assert [each.pointer for each in refused.value.problems] == ["/documents/1/text"]
            with pytest.raises(UnknownDocument):
                await at.index.get("c", "c")
            await at.index.delete("c", "b")
            await at.fill()
            await at.roll.switch("c")
            require_embedded(engine, {"a": "cat"}, NEW)

    run(use)


def test_a_start_after_the_switch_takes_the_snapshot_of_the_new_index(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use() -> None:
        async with process(engine, tmp_path) as at:
            at.store.create("c", made_by(OLD))
            await at.put(("1", "cat"), ("2", "dog tea"))
            await at.local.save()
            await at.roll.begin("c", "new")
            await at.fill()
            version = await at.roll.switch("c")
            await at.index.delete("c", "2")
        monkeypatch.setattr(IndexFolder, "new", None)  # it could build nothing
        async with process(engine, tmp_path) as at:
            await at.local.follow_all()
            results = await at.search(
                SearchFor([Given("cat", "/query")], "c", k=5, candidates=5, measure=None, min_version=version)
            )
            assert [hit.document.id for hit in results.hits[0]] == ["1"]
            assert results.encoder is NEW
            require_true(results, "cat")

    run(use)
