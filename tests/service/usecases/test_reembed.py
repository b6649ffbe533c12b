"""Re-embedding of a collection to another model, during writes and searches."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from semblance_client.vocabulary.collections import ReembeddingRequest
from semblance_client.vocabulary.search import SearchRequest, SearchResults
from sqlalchemy import Engine, Table, select

from semblance.models.alignment.quantized_tokens import quantize
from semblance.models.catalogue import similarity
from semblance.models.tokenization.passages import Cut
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.schema import token_codes, vectors
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import (
    InvalidRequest,
    NoReembedding,
    ReembeddingDiffers,
    ReembeddingUnfinished,
    SpaceMismatch,
    UnknownDocument,
    UnknownModel,
)
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import CollectionSettings, Document, Reembedding, Version, Write
from semblance.service.usecases import reembed
from tests.service.usecases.one_service import OneService, running
from tests.support.random_encoder import RandomEncoder

Result = TypeVar("Result")
Step: TypeAlias = tuple[str, int]

OLD = RandomEncoder("old", "space-a", 8)
NEW = RandomEncoder("new", "space-b", 6, ignored_word="zzz")
OTHER = RandomEncoder("other", "space-c", 4)
ENCODERS = {each.name: each for each in (OLD, NEW, OTHER)}
WORDS = ("cat", "dog", "tax", "law", "moon", "tea", "rain", "zzz")


class Process(OneService):
    """A service with a collection "c"."""

    @property
    def engine(self) -> Engine:
        return self.store._database.engine

    async def put(self, *documents: tuple[str, str]) -> None:
        await self.index.store("c", [Document(doc_id, text, {}) for doc_id, text in documents])

    async def fill(self) -> None:
        while (await self.reembedder.step("c")).left:
            pass

    async def ask(self, text: str, measure: str | None = None) -> SearchResults:
        return await self.search.search(SearchRequest(query=text, collection="c", k=50, candidates=50, measure=measure))


@asynccontextmanager
async def process(
    engine: Engine, folder: Path, encoders: Sequence[RandomEncoder] = (OLD, NEW, OTHER)
) -> AsyncIterator[Process]:
    async with running(Process(SqlDocumentStore(engine), folder, *encoders)) as made:
        yield made


def settings_for(encoder: RandomEncoder) -> CollectionSettings:
    return CollectionSettings(encoder.name, encoder.space, encoder.dim, "cosine", "exact", "int8")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return sqlite_engine(tmp_path / "documents.sqlite")


@pytest.fixture
async def at(engine: Engine, tmp_path: Path) -> AsyncIterator[Process]:
    async with process(engine, tmp_path) as at:
        at.store.create("c", settings_for(OLD))
        yield at


@pytest.fixture(autouse=True)
def small_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "STEP_DOCUMENTS", 3)


def rows(engine: Engine, table: Table) -> dict[tuple[str, str], bytes]:
    content = table.c.vector if table is vectors else table.c.codes
    with engine.connect() as connection:
        found = connection.execute(select(table.c.id, table.c.space, content).where(table.c.collection == "c"))
        return {(row[0], row[1]): row[2] for row in found}


def require_embedded(engine: Engine, texts: Mapping[str, str], *encoders: RandomEncoder) -> None:
    """The store has exactly the vectors and codes that these encoders make of these texts."""
    expected_vectors, expected_codes = {}, {}
    for encoder in encoders:
        for doc_id, text in texts.items():
            expected_vectors[doc_id, encoder.space] = encoder.vector(text).astype("<f4").tobytes()
            [tokens] = encoder.encode(encoder.tokenize([text], "document", "END"), "tokens")
            expected_codes[doc_id, encoder.space] = quantize(tokens)[0]
    assert rows(engine, vectors) == expected_vectors
    assert rows(engine, token_codes) == expected_codes


def require_own_scores(results: SearchResults, query: str) -> None:
    """Every score is that of its text, by the model that the results name."""
    encoder = ENCODERS[results.model]
    query_vector = encoder.vector(query).astype(np.float64)
    for hit in results.hits:
        assert hit.score == pytest.approx(float(query_vector @ encoder.vector(hit.text)), abs=1e-5)


def require_rcmd1_scores(results: SearchResults, query: str) -> None:
    """The same by rcmd1, from token codes, which are approximate."""
    encoder = ENCODERS[results.model]
    rcmd1 = similarity("rcmd1")
    [query_tokens] = encoder.encode(encoder.tokenize([query], "query", "END"), "tokens")
    for hit in results.hits:
        [text] = encoder.encode(encoder.tokenize([hit.text], "document", "END"), "tokens")
        assert hit.score == pytest.approx(rcmd1.score(query_tokens, text), abs=0.02)


class History:
    """Performs random operations on a collection, and tracks its expected documents."""

    def __init__(self, at: Process) -> None:
        self.at = at
        self.texts: dict[str, str] = {}
        self.serves = OLD

    async def perform(self, step: Step) -> None:
        action, number = step
        await getattr(self, action)(number)

    async def put(self, number: int) -> None:
        documents = {str((number + i) % 6): f"{WORDS[(number + i) % 6]} {WORDS[number % 5]} {number}" for i in range(3)}
        await self.at.put(*documents.items())
        self.texts |= documents

    async def relabel(self, number: int) -> None:
        changed = [Document(doc_id, text, {"n": number}) for doc_id, text in self.texts.items()]
        if changed:
            await self.at.index.store("c", changed)

    async def delete(self, number: int) -> None:
        if self.texts.pop(str(number % 6), None) is not None:
            await self.at.index.delete("c", str(number % 6))

    async def begin(self, number: int) -> None:
        reembedding = self.at.store.collection("c").reembedding
        model = reembedding.model if reembedding else list(ENCODERS)[number % 3]
        collection = await self.at.reembedder.begin("c", ReembeddingRequest(model=model))
        assert (collection.reembedding is None) == (model == self.serves.name)

    async def step(self, _: int) -> None:
        if self.at.store.collection("c").reembedding is None:
            with pytest.raises(NoReembedding):
                await self.at.reembedder.step("c")
        else:
            before = self.at.store.unfilled("c", 0)[0]
            done = await self.at.reembedder.step("c")
            assert (done.embedded, done.left) == (min(before, 3), before - min(before, 3))
            assert done.version == str(self.at.store.collection("c").version)

    async def switch(self, _: int) -> None:
        reembedding = self.at.store.collection("c").reembedding
        if reembedding is None:
            with pytest.raises(NoReembedding):
                await self.at.reembedder.switch("c")
            return
        if self.at.store.unfilled("c", 0)[0]:
            with pytest.raises(ReembeddingUnfinished):
                await self.at.reembedder.switch("c")
            await self.at.fill()
        switched = await self.at.reembedder.switch("c")
        assert switched.version == str(self.at.store.collection("c").version)
        self.serves = ENCODERS[reembedding.model]

    async def drop(self, _: int) -> None:
        await self.at.reembedder.drop("c")
        version = self.at.store.collection("c").version
        await self.at.reembedder.drop("c")
        assert self.at.store.collection("c").version == version, "there was no re-embedding left to drop"
        require_embedded(self.at.engine, self.texts, self.serves)

    async def require_current(self) -> None:
        """A search finds all documents, by the serving model."""
        results = await self.at.ask("cat law")
        assert results.model == self.serves.name
        assert results.version == str(self.at.store.collection("c").version)
        assert {hit.id: hit.text for hit in results.hits} == self.texts
        require_own_scores(results, "cat law")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "relabel", "delete", "begin", "begin", "step", "step", "switch", "drop"]),
        st.integers(0, 20),
    ),
    max_size=20,
)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_history_ends_as_if_embedded_from_scratch(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    folder = tmp_path_factory.mktemp("home")
    engine = sqlite_engine(folder / "documents.sqlite")

    async def use() -> None:
        async with process(engine, folder) as at:
            at.store.create("c", settings_for(OLD))
            history = History(at)
            for step in steps:
                await history.perform(step)
                await history.require_current()
            for step in ("begin", 1), ("switch", 0):
                await history.perform(step)
            await history.require_current()
            require_embedded(engine, history.texts, history.serves)

    asyncio.run(use())


class Traffic:
    """Writers and searchers that run during re-embeddings."""

    def __init__(self, at: Process) -> None:
        self.at = at
        self.texts: dict[str, str] = {}
        self.served: list[str] = []
        self._done = {user: asyncio.Event() for user in (0, 1, None, "rcmd1")}  # set after each request of a user
        self._chance = random.Random(5)
        self._over = False

    async def write(self, writer: int) -> None:
        while not self._over:
            doc_id = f"{writer}-{self._chance.randrange(8)}"
            if doc_id in self.texts and self._chance.random() < 0.3:
                await self.at.index.delete("c", doc_id)
                del self.texts[doc_id]
            else:
                text = f"{self._chance.choice(WORDS)} {self._chance.randrange(50)}"
                await self.at.put((doc_id, text))
                self.texts[doc_id] = text
            self._done[writer].set()

    async def look(self, measure: str | None) -> None:
        while not self._over:
            results = await self.at.ask("cat law", measure)
            if measure is None:
                require_own_scores(results, "cat law")
                self.served.append(results.model)
            else:
                require_rcmd1_scores(results, "cat law")
            self._done[measure].set()

    async def reembed(self, *models: str) -> None:
        await self.all_served()
        for model in models:
            await self.at.reembedder.begin("c", ReembeddingRequest(model=model))
            await self.at.fill()
            switched = Version.parse((await self.at.reembedder.switch("c")).version)
            now = await self.at.ask("cat law")
            assert (now.model, Version.parse(now.version).number >= switched.number) == (model, True)
            await self.all_served()  # several re-embeddings within one request would exhaust its retries
        self._over = True

    async def all_served(self) -> None:
        """Wait for a whole request of each user: the first to end may have begun before."""
        for _ in range(2):
            for done in self._done.values():
                done.clear()
                await done.wait()


@pytest.mark.slow
async def test_scores_stay_correct_while_writers_and_reembeddings_run(at: Process, engine: Engine) -> None:
    traffic = Traffic(at)
    users = traffic.write(0), traffic.write(1), traffic.look(None), traffic.look("rcmd1")
    await asyncio.gather(*users, traffic.reembed("new", "other", "old", "new"))
    require_embedded(engine, traffic.texts, NEW)
    found = (await at.ask("cat law")).hits
    assert {hit.id: hit.text for hit in found} == traffic.texts
    turns = [name for i, name in enumerate(traffic.served) if i == 0 or traffic.served[i - 1] != name]
    assert turns == ["old", "new", "other", "old", "new"], "no answer is by a former model"


async def test_the_present_model_serves_until_the_switch(at: Process) -> None:
    await at.put(("1", "cat law"), ("2", "dog"), ("3", "tea rain"), ("4", "moon"))
    begun = await at.reembedder.begin("c", ReembeddingRequest(model="new"))
    assert begun.reembedding is not None
    assert begun.reembedding.documents_left == 4
    await at.fill()
    await at.put(("5", "rain moon"), ("1", "cat law tax"))
    assert at.store.sizes(["c"])[0][1].unfilled == 0, "writes during the re-embedding are embedded by both"
    before = await at.ask("cat")
    assert (before.model, len(before.hits)) == (OLD.name, 5)
    require_own_scores(before, "cat")
    version = (await at.reembedder.switch("c")).version
    after = await at.ask("cat")
    assert (after.model, after.version) == (NEW.name, version)
    require_own_scores(after, "cat")
    _, index = await at.local.current("c", Version.parse(version))
    assert str(index.version) == version
    assert index.vectors(["1"])["1"].shape == (1, 6)


async def test_beginning_is_idempotent_and_refuses_another_model(at: Process) -> None:
    nothing = await at.reembedder.begin("c", ReembeddingRequest(model="old"))
    assert (nothing.reembedding, Version.parse(nothing.version).number) == (None, 0)
    first = await at.reembedder.begin("c", ReembeddingRequest(model="new"))
    assert await at.reembedder.begin("c", ReembeddingRequest(model="new")) == first
    for another in ("old", "other"):
        with pytest.raises(ReembeddingDiffers, match="'new'"):
            await at.reembedder.begin("c", ReembeddingRequest(model=another))
    with pytest.raises(UnknownModel, match="nosuch"):
        await at.reembedder.begin("c", ReembeddingRequest(model="nosuch"))
    await at.reembedder.drop("c")
    both = [at.reembedder.begin("c", ReembeddingRequest(model=model)) for model in ("new", "other")]
    refused = [each for each in await asyncio.gather(*both, return_exceptions=True) if isinstance(each, Exception)]
    assert [type(each) for each in refused] == [ReembeddingDiffers], "of two at the same time, one is refused"


async def test_documents_longer_than_a_text_become_one_passage(engine: Engine, tmp_path: Path) -> None:
    async with process(engine, tmp_path) as at:
        at.store.create("c", settings_for(OLD).cut_as(Cut(16, 0)))
        long = 500 * "cat law "  # of more than the 1,000 characters that a text may have
        await at.put(("long", long), ("short", "dog"))
        await at.reembedder.begin("c", ReembeddingRequest(passages="none"))
        await at.fill()
        await at.reembedder.switch("c")
        hits = (await at.ask("cat law")).hits
        assert {hit.id: hit.truncated for hit in hits} == {"long": True, "short": False}
        assert rows(engine, vectors)["long", "space-a"] == OLD.vector(long[:1000]).astype("<f4").tobytes()


async def test_a_step_overtaken_by_another_write_goes_on(at: Process, engine: Engine) -> None:
    await at.put(("1", "cat"), ("2", "dog"))
    await at.reembedder.begin("c", ReembeddingRequest(model="new"))

    def replace() -> None:
        at.store.drop_reembedding("c")
        at.store.begin_reembedding(at.store.collection("c"), Reembedding("other", "space-c", 4))

    def relabel() -> None:
        at.store.upsert(at.store.collection("c"), [Write(Document("1", "cat", {"label": 1}), None)])

    at.local.interruption = relabel
    done = await at.reembedder.step("c")
    assert (done.embedded, done.left) == (2, 1), "a document changed during a step is left"
    at.local.interruption = replace
    assert (await at.reembedder.step("c")).left == 0
    require_embedded(engine, {"1": "cat", "2": "dog"}, OLD, OTHER)


async def test_a_process_without_the_next_model_refuses_writes_and_steps(engine: Engine, tmp_path: Path) -> None:
    async with process(engine, tmp_path) as at:
        at.store.create("c", settings_for(OLD))
        await at.put(("1", "cat"))
        await at.reembedder.begin("c", ReembeddingRequest(model="new"))
    async with process(engine, tmp_path, [OLD]) as at:
        for refused in (
            at.put(("2", "dog")),
            at.reembedder.step("c"),
            at.reembedder.switch("c"),
            at.index.check_writable("c"),
        ):
            with pytest.raises(SpaceMismatch, match=r"'new'.*serve it too, or drop the re-embedding"):
                await refused
        require_own_scores(await at.ask("cat"), "cat")
        await at.reembedder.drop("c")
        await at.put(("2", "dog"))
        require_embedded(engine, {"1": "cat", "2": "dog"}, OLD)


async def test_a_reembedding_rescues_a_collection_without_its_model(engine: Engine, tmp_path: Path) -> None:
    async with process(engine, tmp_path) as at:
        at.store.create("c", settings_for(OLD))
        await at.put(("1", "cat"))
    renewed = RandomEncoder("old", "space-b", 6)
    async with process(engine, tmp_path, [renewed]) as at:
        with pytest.raises(SpaceMismatch, match="another version of model 'old'"):
            await at.ask("cat")
        await at.reembedder.begin("c", ReembeddingRequest(model="old"))
        await at.fill()
        await at.reembedder.switch("c")
        assert [hit.id for hit in (await at.ask("cat")).hits] == ["1"]
        require_embedded(engine, {"1": "cat"}, renewed)


async def test_a_text_that_the_next_model_refuses_is_located(at: Process, engine: Engine) -> None:
    await at.put(("a", "cat"), ("b", "zzz"))
    await at.reembedder.begin("c", ReembeddingRequest(model="new"))
    with pytest.raises(InvalidRequest) as refused:
        await at.reembedder.step("c")
    assert [(each.pointer, each.code) for each in refused.value.problems] == [("/documents/b", "empty_text")]
    with pytest.raises(InvalidRequest) as refused:
        await at.put(("c", "dog"), ("d", "zzz"))
    assert [each.pointer for each in refused.value.problems] == ["/documents/1/text"]
    with pytest.raises(UnknownDocument):
        await at.index.get("c", "c")
    await at.index.delete("c", "b")
    await at.fill()
    await at.reembedder.switch("c")
    require_embedded(engine, {"a": "cat"}, NEW)


async def test_a_start_after_the_switch_loads_the_new_snapshot(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(engine, tmp_path) as at:
        at.store.create("c", settings_for(OLD))
        await at.put(("1", "cat"), ("2", "dog tea"))
        await at.local.save()
        await at.reembedder.begin("c", ReembeddingRequest(model="new"))
        await at.fill()
        await at.reembedder.switch("c")
        await at.index.delete("c", "2")
    monkeypatch.setattr(IndexFolder, "new", None)  # so that no index can be built
    async with process(engine, tmp_path) as at:
        await at.local.refresh_indexes()
        results = await at.ask("cat")
        assert results.version == str(at.store.collection("c").version)
        assert [hit.id for hit in results.hits] == ["1"]
        assert results.model == NEW.name
        require_own_scores(results, "cat")
