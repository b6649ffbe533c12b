"""Keys with limits at the use cases: what they do not reach does not exist for them, and does not change."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Set
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semblance_client.vocabulary.collections import CollectionRequest, ReembeddingRequest
from semblance_client.vocabulary.documents import Deleted, MetadataChange, MetadataRequest
from semblance_client.vocabulary.duplicates import DuplicatesRequest
from semblance_client.vocabulary.explanation import ExplainRequest
from semblance_client.vocabulary.glossary import GlossaryRequest
from semblance_client.vocabulary.matching import (
    CountRequest,
    DeleteRequest,
    FacetRequest,
    ListRequest,
    MapRequest,
    SortRequest,
)
from semblance_client.vocabulary.search import Mode, SearchRequest

from semblance.models.tokenization.terms import query_terms
from semblance.service.callers import UNLIMITED, Permission, current_permission, set_caller
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import Forbidden, ForbiddenDocuments, UnknownCollection, UnknownDocument
from semblance.service.filters import OneOf, matches, parse_filter
from semblance.service.ports.document_store import DocumentReader, DocumentWriter
from semblance.service.ports.documents import Document, PassageKey, VectorChange, Write
from semblance.service.ports.indexes import HybridQuery, IndexReader
from semblance.service.replication import limited_views
from semblance.service.replication.limited_views import LimitedIndex, LimitedReader, LimitedWriter
from semblance.service.usecases.cursors import Place, write_cursor
from semblance.service.usecases.documents.index_stream import IndexStream, StreamLine
from tests.service.usecases.one_service import OneService, running
from tests.support.random_encoder import RandomEncoder
from tests.support.vectors import one_passage

Result = TypeVar("Result")

ENCODER = RandomEncoder("random", "space-a", 8)
ACME = Permission(conditions=(OneOf("tenant", ("acme",)),))
FAQ = Permission(collections=("faq*",))
BOTH = Permission(FAQ.collections, ACME.conditions)

TENANTS = st.sampled_from(["acme", "zeta", ["zeta", "acme"], ["zeta"], None, {"name": "acme"}])
TEXTS = st.lists(st.sampled_from(["cat", "dog", "tax", "law", "moon"]), min_size=1, max_size=3).map(" ".join)
METADATA = st.fixed_dictionaries({}, optional={"tenant": TENANTS, "size": st.integers(0, 2)})
DOCUMENTS = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(TEXTS, METADATA), max_size=8)
WHERES = st.sampled_from([{"size": 1}, {"tenant": "zeta"}, {"not": {"tenant": "acme"}}, {"size": {"exists": True}}])

Stored: TypeAlias = Mapping[str, tuple[str, Mapping[str, Any]]]


class Service(OneService):
    """Whose store a test fills and reads without limits."""

    async def put(self, documents: Stored, name: str = "faq") -> None:
        with permission(UNLIMITED):
            await self.collections.create(name, CollectionRequest(tokens="int8", index="exact"))
            if documents:
                await self.index.store(name, [Document(key, *each) for key, each in documents.items()])

    async def stored(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        with permission(UNLIMITED):
            page = await self.index.page("faq", None, 1000)
            return {stored.id: (stored.text, stored.metadata) for stored in page.documents}


@contextmanager
def permission(limits: Permission) -> Iterator[None]:
    before = current_permission()
    set_caller("test", limits)
    yield
    set_caller("test", before)


@asynccontextmanager
async def service() -> AsyncIterator[Service]:
    with TemporaryDirectory() as folder:
        store = SqlDocumentStore(sqlite_engine(Path(folder) / "documents.sqlite"))
        async with running(Service(store, Path(folder), ENCODER)) as made:
            yield made


@pytest.fixture
async def whole() -> AsyncIterator[Service]:
    async with service() as whole:
        yield whole


def own(documents: Stored) -> Stored:
    """Documents of the tenant acme, by a rule of these tests' own."""
    tenants = {key: metadata.get("tenant") for key, (_, metadata) in documents.items()}
    return {key: documents[key] for key, tenant in tenants.items() if tenant in ("acme", ["zeta", "acme"])}


async def answers(service: Service, where: object) -> Iterator[object]:
    """Answers to all kinds of queries, without versions and statistics of terms."""
    modes: tuple[Mode, ...] = ("vector", "hybrid", "lexical")
    found: list[object] = []
    for mode in modes:
        for measure in ("cosine", "rcmd"):
            request = SearchRequest(
                query="cat law", collection="faq", k=50, candidates=50, measure=measure, filter=where, mode=mode
            )
            hits = {hit.id: hit for hit in (await service.search.search(request)).hits}
            scores = {key: pytest.approx(hit.score, abs=1e-6) for key, hit in hits.items()}
            shown = {key: (hit.text, hit.metadata) for key, hit in hits.items()}
            found += [scores, shown, list(hits) if mode == "vector" and measure == "cosine" else None]
    for mode in modes:  # hidden documents do not take the places of visible ones
        few = SearchRequest(
            query="cat law", collection="faq", k=2, candidates=2, measure="cosine", filter=where, mode=mode
        )
        best = [pytest.approx(hit.score, abs=1e-6) for hit in (await service.search.search(few)).hits]
        found += [best if mode == "vector" else len(best)]
    return iter([*found, *await overviews(service, where)])


async def overviews(service: Service, where: object) -> list[object]:
    facets = [FacetRequest(field="tenant"), FacetRequest(field="size")]
    counted = await service.by_filter.count("faq", CountRequest(filter=where, facets=facets))
    found: list[object] = [counted.count, counted.facets]
    for after, limit in (("", 100), ("", 2), ("c", 3)):
        page = await service.index.page("faq", write_cursor(Place(after)), limit)
        found += [page.documents, page.cursor]
    for request in (
        ListRequest(filter=where, limit=3),
        ListRequest(filter=where, limit=50, sort=SortRequest(field="size", descending=True), offset=1),
        ListRequest(filter=where, limit=50, cursor=write_cursor(Place("b"))),
    ):
        listed = await service.by_filter.list("faq", request)
        found += [listed.documents, listed.cursor]
    for measure in ("cosine", "rcmd"):
        duplicates = await service.duplicates.open(
            "faq", DuplicatesRequest(min_score=0.5, measure=measure, filter=where)
        )
        async for batch in duplicates.batches():
            groups = [group.documents for group in batch.groups]
            found.append([[(document.id, document.text, document.like) for document in group] for group in groups])
    for most in (100, 2):
        drawn = await service.map.draw("faq", MapRequest(filter=where, field="size", limit=most))
        found += [drawn.documents, drawn.explained, drawn.points]
    return found


@settings(max_examples=10)
@given(documents=DOCUMENTS, where=st.none() | WHERES)
def test_queries_answer_as_if_only_visible_documents_were_stored(documents: Stored, where: object) -> None:
    async def use() -> None:
        async with service() as whole, service() as visible:
            await whole.put(documents)
            await visible.put(own(documents))
            with permission(BOTH):
                limited = list(await answers(whole, where))
            assert limited == list(await answers(visible, where))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limited_views, "SCANNED", 2)  # a page of visible documents takes several reads
        asyncio.run(use())


@settings(max_examples=10)
@given(documents=DOCUMENTS)
def test_documents_are_shown_and_explained_if_visible(documents: Stored) -> None:
    async def use() -> None:
        async with service() as whole:
            await whole.put(documents)
            with permission(ACME):
                for doc_id in "abcdefgh":
                    explain = ExplainRequest(a="cat", id=doc_id, collection="faq")
                    if doc_id in own(documents):
                        assert (await whole.index.get("faq", doc_id)).text == documents[doc_id][0]
                        assert (await whole.explain.explain(explain)).b.text == documents[doc_id][0]
                        continue
                    for request in (whole.index.get("faq", doc_id), whole.explain.explain(explain)):
                        with pytest.raises(UnknownDocument, match=f"no document '{doc_id}'"):
                            await request

    asyncio.run(use())


STEPS = st.lists(
    st.tuples(st.just("store"), st.dictionaries(st.sampled_from("abcd"), st.tuples(TEXTS, METADATA), min_size=1))
    | st.tuples(st.just("stream"), st.dictionaries(st.sampled_from("abcd"), st.tuples(TEXTS, METADATA), min_size=1))
    | st.tuples(st.just("delete"), st.sampled_from("abcd"))
    | st.tuples(st.just("delete ids"), st.lists(st.sampled_from("abcd"), min_size=1, unique=True))
    | st.tuples(st.just("delete matching"), WHERES)
    | st.tuples(st.just("change"), st.tuples(st.sampled_from("abcd"), METADATA)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=20)
@given(documents=DOCUMENTS, steps=STEPS)
def test_writes_change_visible_documents_only(documents: Stored, steps: list[tuple[str, Any]]) -> None:
    async def use() -> None:
        async with service() as whole:
            await whole.put(documents)
            expected: Stored = documents
            for kind, argument in steps:
                with permission(ACME):
                    expected = await attempted(whole, kind, argument, expected)
                assert await whole.stored() == expected

    asyncio.run(use())


def exclusive(documents: Stored) -> Stored:
    """Documents that no other tenant sees."""
    return {key: each for key, each in documents.items() if each[1].get("tenant") == "acme"}


async def deleted(deletion: Awaitable[Deleted], gone: Set[str], before: Stored) -> Stored:
    """The documents after a deletion by acme of some that it sees."""
    if not gone <= exclusive(before).keys():
        with pytest.raises(Forbidden):
            await deletion
        return before
    assert (await deletion).deleted == len(gone)
    return {key: each for key, each in before.items() if key not in gone}


async def attempted(service: Service, kind: str, argument: Any, before: Stored) -> Stored:
    """The documents after a write by acme, which is refused if it touches others, or what others see."""
    visible, mine = own(before), exclusive(before)
    match kind:
        case "delete" if argument in mine:
            await service.index.delete("faq", argument)
            return {key: each for key, each in before.items() if key != argument}
        case "delete":
            with pytest.raises(Forbidden if argument in visible else UnknownDocument):
                await service.index.delete("faq", argument)
        case "delete ids":
            gone, deletion = (
                visible.keys() & set(argument),
                service.by_filter.delete("faq", DeleteRequest(ids=argument)),
            )
            return await deleted(deletion, gone, before)
        case "delete matching":
            where = parse_filter(argument)
            gone = {key for key, (_, metadata) in visible.items() if matches(where, metadata)}
            return await deleted(service.by_filter.delete("faq", DeleteRequest(filter=argument)), gone, before)
        case "change":
            doc_id, values = argument
            changed = {doc_id: (visible[doc_id][0], {**visible[doc_id][1], **values})} if doc_id in visible else {}
            change = MetadataRequest.model_construct(
                documents=[MetadataChange.model_construct(id=doc_id, metadata=values)]  # which may change nothing
            )
            if doc_id in mine and exclusive(changed):
                await service.change.change("faq", change)
                return {**before, **changed}
            with pytest.raises(ForbiddenDocuments if changed else UnknownDocument):
                await service.change.change("faq", change)
        case _:
            allowed = {key: each for key, each in exclusive(argument).items() if key in mine or key not in before}
            if kind == "stream" or allowed == argument:
                await write(service, kind, argument)
                return {**before, **allowed}
            with pytest.raises(ForbiddenDocuments):
                await write(service, kind, argument)
    return before


async def write(service: Service, kind: str, documents: Stored) -> None:
    listed = [Document(key, *each) for key, each in documents.items()]
    if kind == "store":
        await service.index.store("faq", listed)
        return

    async def lines() -> AsyncIterator[StreamLine]:
        for number, each in enumerate(listed, 1):
            yield StreamLine(number, each)

    async for _ in IndexStream(service.index).store("faq", lines()):
        pass


@pytest.mark.parametrize("text", ["cat", "dog"])
async def test_no_race_replaces_or_deletes_documents_of_others(whole: Service, text: str) -> None:
    """The document changes hands between the read and the write of a request."""
    await whole.put({"a": ("cat", {"tenant": "acme"})})

    def hand_over() -> None:
        embedding = None if text == "cat" else one_passage(ENCODER.vector(text))
        taken = Write(Document("a", text, {"tenant": "zeta"}), embedding)
        whole.store.upsert(whole.store.collection("faq"), [taken])

    whole.local.interruption = hand_over
    with permission(ACME), pytest.raises(ForbiddenDocuments, match=r"^/documents/0: .* not in use by others$"):
        await whole.index.store("faq", [Document("a", "cat", {"tenant": "acme", "size": 1})])
    assert await whole.stored() == {"a": (text, {"tenant": "zeta"})}


async def test_conditional_writes_do_not_tell_of_hidden_documents(whole: Service) -> None:
    await whole.put({"a": ("cat", {"tenant": "zeta"})})
    before = whole.store.collection("faq").version
    await whole.put({"a": ("dog", {"tenant": "zeta"})})
    with permission(ACME):
        for doc_id in ("a", "absent"):
            with pytest.raises(UnknownDocument):
                await whole.index.delete("faq", doc_id, str(before))


async def test_codes_of_documents_that_change_hands_are_not_read(whole: Service) -> None:
    """Between the codes and the second look at their documents."""
    await whole.put({"a": ("cat", {"tenant": "zeta"}), "b": ("dog", {"tenant": "acme"})})
    passages = [PassageKey("a", 0), PassageKey("b", 0)]
    generation = whole.store.collection("faq").settings.generation
    assert whole.store.codes("faq", passages, generation).keys() == set(passages)
    assert LimitedReader(whole.store, ACME).codes("faq", passages, generation).keys() == {passages[1]}

    class HandedOver(SqlDocumentStore):
        def codes(self, name: str, passages: Any, generation: str) -> Any:
            found = super().codes(name, passages, generation)
            taken = Document("b", "dog", {"tenant": "acme", "size": 2})
            self.upsert(self.collection(name), [Write(taken, None)])
            return found

    handed_over = HandedOver(whole.store._database.engine)
    assert LimitedReader(handed_over, ACME).codes("faq", passages, generation) == {}


async def test_hidden_documents_are_not_read_by_views(whole: Service) -> None:
    await whole.put({"a": ("cat", {"tenant": "zeta"}), "b": ("dog", {"tenant": "acme"})})
    _, index = await whole.local.current("faq", None)
    with permission(ACME):
        assert (await whole.access.search(lambda store: store.get("faq", ["a", "b"]))).keys() == {"b"}
        _, view = await whole.access.current("faq", None)
    assert index.vectors(["a", "b", "c"]).keys() == {"a", "b"}
    assert view.vectors(["a", "b", "c"]).keys() == view.vectors(["b"]).keys() == {"b"}
    assert (len(index), len(view), view.exact) == (2, 1, index.exact)
    assert await whole.access.read(lambda store: store) is whole.store, "without limits, there is no view"
    assert (await whole.access.current("faq", None))[1] is index


async def test_codes_and_missing_terms_tell_nothing_of_others(whole: Service) -> None:
    """Nor does a code of others' documents cease to be rare."""
    texts = {f"z{i}": ("pump E-4711", {"tenant": "zeta"}) for i in range(9)}
    await whole.put({**texts, "b": ("pump E-4711", {"tenant": "acme"}), "c": ("lamp E-4711", {"tenant": "acme"})})
    _, index = await whole.local.current("faq", None)
    with permission(ACME):
        _, view = await whole.access.current("faq", None)
    query = HybridQuery(index.vectors(["b"])["b"][0], query_terms("the pump of zeta E-4711, E-12"))
    limited, everything = (each.search_hybrid(query, 9, None, 1) for each in (view, index))
    assert (limited.codes, everything.codes) == (["e-4711", "e-12"], ["e-12"])
    assert {hit.id: hit.codes for hit in limited.hits} == {"b": "some", "c": "some"}
    assert [term.text for term in limited.missing] == ["the", "of", "zeta", "e-12"]
    for i in range(9):
        await whole.put({f"z{i}": ("the pump of zeta, E-12", {"tenant": "zeta"})})
    again = view.search_hybrid(query, 9, None, 1)
    assert (again.codes, again.missing) == (limited.codes, limited.missing)


@pytest.mark.parametrize("former", ["acme", "zeta"])
async def test_vectors_and_terms_are_not_read_in_a_race(
    whole: Service, monkeypatch: pytest.MonkeyPatch, former: str
) -> None:
    """The document changes hands while they are read."""
    await whole.put({"a": ("cat", {"tenant": former})})
    _, index = await whole.local.current("faq", None)
    with permission(ACME):
        _, view = await whole.access.current("faq", None)
    key = PassageKey("a", 0)
    vectors, terms_of = index.vectors(["a"]), index.terms_of(query_terms("cat"), [key])
    assert (len(vectors), len(terms_of)) == (1, 1)

    def handing_over(found: dict[Any, Any]) -> Callable[..., dict[Any, Any]]:
        def read(*arguments: Any) -> dict[Any, Any]:
            taken = {"tenant": "zeta" if former == "acme" else "acme"}
            index.apply([VectorChange("a", 9, vectors["a"], taken, ["cat"])])
            return found if "a" in str(arguments[-1]) else {}

        return read

    monkeypatch.setattr(index, "vectors", handing_over(vectors))
    assert view.vectors(["a"]) == {}
    index.apply([VectorChange("a", 10, vectors["a"], {"tenant": former}, ["cat"])])
    monkeypatch.setattr(index, "terms_of", handing_over(terms_of))
    assert view.terms_of(query_terms("cat"), [key]) == {}


async def test_deletions_leave_out_documents_that_change_hands(whole: Service) -> None:
    await whole.put({"a": ("cat", {"tenant": "acme"}), "b": ("dog", {"tenant": "acme"})})

    class HandedOver(SqlDocumentStore):
        def get_at(self, name: str, ids: Any) -> Any:
            found = super().get_at(name, ids)
            self.upsert(self.collection(name), [Write(Document("a", "cat", {"tenant": "zeta"}), None)])
            return found

    handed_over = HandedOver(whole.store._database.engine)
    before = whole.store.collection("faq").version
    for since in (before, None):
        _, deleted = LimitedWriter(handed_over, ACME).delete_many("faq", ["a", "b"], since)
        assert deleted == (1 if since else 0)
    assert (await whole.stored()).keys() == {"a"}


REQUESTS: Mapping[str, Callable[[Service, str], Awaitable[object]]] = {
    "show": lambda service, name: service.collections.show(name),
    "drop": lambda service, name: service.collections.drop(name),
    "get": lambda service, name: service.index.get(name, "a"),
    "page": lambda service, name: service.index.page(name, None, 10),
    "store": lambda service, name: service.index.store(name, [Document("a", "cat", {"tenant": "acme"})]),
    "stream": lambda service, name: service.index.check_writable(name),
    "check": lambda service, name: service.index.check(name, {0: Document("a", "cat", {})}),
    "delete": lambda service, name: service.index.delete(name, "a"),
    "search": lambda service, name: service.search.search(SearchRequest(query="cat", collection=name)),
    "count": lambda service, name: service.by_filter.count(name, CountRequest()),
    "list": lambda service, name: service.by_filter.list(name, ListRequest()),
    "delete_ids": lambda service, name: service.by_filter.delete(name, DeleteRequest(ids=["a"])),
    "delete_matching": lambda service, name: service.by_filter.delete(name, DeleteRequest(filter={"tenant": "acme"})),
    "change": lambda service, name: service.change.change(
        name, MetadataRequest(documents=[MetadataChange(id="a", metadata={"size": 1})])
    ),
    "duplicates": lambda service, name: service.duplicates.open(name, DuplicatesRequest(min_score=0.5)),
    "map": lambda service, name: service.map.draw(name, MapRequest(limit=10)),
    "explain": lambda service, name: service.explain.explain(ExplainRequest(a="cat", id="a", collection=name)),
    "begin": lambda service, name: service.reembedder.begin(name, ReembeddingRequest(passages="none")),
    "step": lambda service, name: service.reembedder.step(name),
    "switch": lambda service, name: service.reembedder.switch(name),
    "drop_reembedding": lambda service, name: service.reembedder.drop(name),
    "set_glossary": lambda service, name: service.glossaries.put(name, GlossaryRequest(groups=[])),
    "show_glossary": lambda service, name: service.glossaries.show(name),
    "refresh": lambda service, name: service.access.refresh_index(name),
    "switch_access": lambda service, name: service.access.switch(name),
}


@pytest.mark.parametrize("limits", [FAQ, BOTH], ids=["collections", "both"])
async def test_hidden_collections_are_as_unknown_as_absent_ones(whole: Service, limits: Permission) -> None:
    await whole.put({"a": ("cat", {"tenant": "acme"})}, "secret")
    for kind, request in REQUESTS.items():
        refusals = set()
        for name, of_caller in (("secret", limits), ("absent", limits), ("absent", UNLIMITED)):
            with permission(of_caller), pytest.raises(UnknownCollection) as refused:
                await request(whole, name)
            refusals.add(str(refused.value).replace(name, "NAME"))
        assert len(refusals) == 1, kind
    assert whole.store.get("secret", ["a"]).keys() == {"a"}


async def test_only_reached_collections_are_listed_and_created(whole: Service) -> None:
    for name in ("faq", "faq-2", "hr"):
        await whole.put({}, name)
    with permission(FAQ):
        assert [shown.name for shown in (await whole.collections.list()).collections] == ["faq", "faq-2"]
        assert len(await whole.access.read(lambda store: store.collections())) == 2
        await whole.collections.create("faq-3", CollectionRequest())
        for name in ("hr", "hr-2"):
            with pytest.raises(Forbidden, match=f"no collection '{name}': it reaches faq"):
                await whole.collections.create(name, CollectionRequest())
        await whole.collections.drop("faq-2")
    assert [each.name for each in whole.store.collections()] == ["faq", "faq-3", "hr"]


async def test_an_alias_is_reached_by_its_own_name(whole: Service) -> None:
    """Whatever it leads to, of which a filter still hides documents, and for one request only."""
    await whole.put({"a": ("cat", {"tenant": "acme"}), "b": ("cat", {"tenant": "zeta"})}, "secret")
    await whole.put({}, "faq-1")
    for name, collection in (("faq", "secret"), ("now", "faq-1"), ("faq-now", "faq-1")):
        await whole.collections.set_alias(name, collection)
    request = SearchRequest(query="cat", collection="faq", mode="vector")
    for limits, ids in ((FAQ, {"a", "b"}), (BOTH, {"a"})):
        with permission(limits):
            [result] = (await whole.search.search(request)).results
        assert {hit.id for hit in result.hits} == ids
        with permission(limits), pytest.raises(UnknownCollection):
            await whole.search.search(request.model_copy(update={"collection": "secret"}))
        with permission(limits), pytest.raises(UnknownCollection):
            await whole.collections.resolve("now", latest=False)
    with permission(FAQ):
        listed = (await whole.collections.aliases()).aliases
        assert [(each.name, each.collection) for each in listed] == [("faq", "secret"), ("faq-now", "faq-1")]
        with pytest.raises(Forbidden, match="may set or delete no alias 'now': it reaches faq"):
            await whole.collections.set_alias("now", "faq-1")
        with pytest.raises(Forbidden):
            await whole.collections.drop_alias("now")
        with pytest.raises(UnknownCollection):
            await whole.collections.set_alias("faq-now", "secret")
        await whole.collections.drop_alias("faq-now")
    with permission(ACME), pytest.raises(Forbidden):
        await whole.collections.set_alias("faq", "faq-1")
    assert whole.store.aliases() == {"faq": "secret", "now": "faq-1"}


async def test_a_filter_refuses_what_concerns_all_documents(whole: Service) -> None:
    """Keys with a filter have no scope for it either."""
    await whole.put({"a": ("cat", {"tenant": "acme"}), "b": ("cat", {"tenant": "zeta"})})
    whole_collection = ["begin", "step", "switch", "drop_reembedding", "switch_access", "drop"]
    for name in ("set_glossary", "show_glossary", *whole_collection):
        with permission(ACME), pytest.raises(Forbidden):
            await REQUESTS[name](whole, "faq")
        if name == "begin":
            await whole.reembedder.begin("faq", ReembeddingRequest(passages="none"))
    with permission(ACME), pytest.raises(Forbidden):
        await whole.collections.create("faq-2", CollectionRequest())
    assert len(await whole.stored()) == 2


async def test_states_of_all_indexes_need_no_limits(whole: Service) -> None:
    await whole.put({})
    assert len(await whole.access.states()) == 1
    for limits in (FAQ, ACME):
        with permission(limits), pytest.raises(Forbidden):
            await whole.access.states()


@pytest.mark.parametrize(
    ("port", "view"),
    [(DocumentReader, LimitedReader), (DocumentWriter, LimitedWriter), (IndexReader, LimitedIndex)],
)
def test_views_have_the_methods_of_their_port_and_no_others(port: type, view: type) -> None:
    """A later method of the store or index is not reached through a view."""
    methods = {name: member for name, member in inspect.getmembers(port) if not name.startswith("_")}
    assert len(methods) >= 9
    assert {name for name, _ in inspect.getmembers(view) if not name.startswith("_")} == methods.keys()
    for name, member in methods.items():
        if callable(member):
            assert inspect.signature(getattr(view, name)).parameters == inspect.signature(member).parameters, name
