"""Contract of every index engine: the same results as an exhaustive scan of the documents."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from semblance.models import catalogue
from semblance.models.embeddings import Floats, unit_rows
from semblance.models.tokenization.terms import query_terms
from semblance.service.filters import All, Between, Either, Exists, Filter, Not, OneOf, Prefix, parse_filter
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.engines.exact import Exact
from semblance.service.ports.documents import VectorChange, Version
from semblance.service.ports.indexes import ENGINES, FacetQuery, Hit, HybridQuery, PassageHit
from tests.support.stored_index import StoredIndex
from tests.support.waiting import until

DIM = 8
SCANNED = 2000  # limit of exhaustive scans in tests with more rows
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
NAMES = catalogue.names(ENGINES)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "color": st.sampled_from(["red", "green", "blue"]),
        "size": st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1.0])),
        "flag": st.one_of(st.booleans(), st.none()),
        "tags": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3),
        "name": st.one_of(st.text("ab\uffff\U0001f642", max_size=3), st.just({"nested": "a"})),
    },
)
ACTIONS = st.sampled_from(["upsert", "delete", "relabel"])
FILTERS: list[Mapping[str, Any] | None] = [
    None,
    {"color": "red"},
    {"color": {"in": ["red", "blue"]}, "size": {"gte": 0}},
    {"size": {"gt": -1, "lte": 1}},
    {"or": [{"flag": True}, {"tags": "b"}, {"and": [{"color": {"gte": "green"}}, {"size": 1}]}]},
    {"flag": None},
    {"flag": 1},  # true is not 1
    {"size": {"in": [True, False]}},
    {"flag": {"gte": 0}},
    {"nothing": "here"},
    {"color": {"in": []}},
    {"name": {"prefix": "a"}},
    {"name": {"prefix": "a\uffff"}, "color": {"prefix": "g"}},
    {"tags": {"exists": True}},
    {"name": {"exists": False}},
    {"size": {"prefix": "1"}},
    {"nothing": {"exists": False}},
    {"not": {"color": "red"}},
    {"not": {"or": [{"flag": None}, {"not": {"tags": "a"}}]}, "size": {"exists": True}},
    {"or": [{"not": {"nothing": 1}}, {"not": {"flag": "yes"}}]},
]


@pytest.fixture(params=NAMES)
def index(request: pytest.FixtureRequest) -> CollectionIndex:
    return empty(request.param)


def empty(engine: str, expected: int = 0) -> CollectionIndex:
    return StoredIndex(engine, DIM, expected)


@pytest.fixture(autouse=True)
def _few_rows_before_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semblance.service.indexes.engines.faiss_ivf_sq8.RANGE_ROWS", 50)


class Oracle:
    """Documents in a dictionary, compared one by one."""

    def __init__(self) -> None:
        self.documents: dict[str, VectorChange] = {}

    def apply(self, changes: list[VectorChange]) -> None:
        for change in changes:
            if change.vectors is None:
                self.documents.pop(change.id, None)
            else:
                self.documents[change.id] = change

    def search(
        self, query: Floats, k: int, where: Filter | None, passages: int = 1, min_score: float = -math.inf
    ) -> list[Hit]:
        hits: list[Hit] = []
        for change in self.documents.values():
            if change.vectors is not None and (where is None or holds(where, change.metadata)):
                scores = np.clip(change.vectors.astype(np.float64) @ query.astype(np.float64), -1, 1)
                best = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:passages]
                hits.append(Hit(change.id, max(scores), [PassageHit(i, scores[i]) for i in best]))
        return sorted((hit for hit in hits if hit.score >= min_score), key=lambda hit: (-hit.score, hit.id))[:k]

    def mismatches(self, where: Filter) -> list[str]:
        """Codes of the conditions, in order, whose field no document has, or only with values of other types."""
        match where:
            case All(parts) | Either(parts):
                return [code for part in parts for code in self.mismatches(part)]
            case Not(part):
                return self.mismatches(part)
            case Exists():
                return []
            case Prefix(field):
                wanted = {"str"}
            case OneOf(field, values):
                wanted = {kind(value) for value in values}
            case Between(field, low, high):
                wanted = {kind(low if high is None else high)}
        all_values = [each for change in self.documents.values() for each in entries(change.metadata, field)]
        present = {kind(each) for each in all_values if not isinstance(each, dict)}
        if not present:
            return ["unknown_metadata_field"]
        return ["filter_type_mismatch"] if wanted and not wanted & present else []


def holds(where: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether one document matches a filter, by the definition of filters."""
    match where:
        case All(parts):
            return all(holds(part, metadata) for part in parts)
        case Either(parts):
            return any(holds(part, metadata) for part in parts)
        case Not(part):
            return not holds(part, metadata)
        case _:
            return any(meets(where, value) for value in entries(metadata, where.field))


def meets(condition: OneOf | Between | Prefix | Exists, x: Any) -> bool:
    match condition:
        case OneOf(_, values):
            return any(kind(x) == kind(y) and x == y for y in values)
        case Prefix(_, start):
            return isinstance(x, str) and x[: len(start)] == start
        case Exists():
            return not isinstance(x, dict)
        case Between(_, low, high, includes_low, includes_high):
            return (
                kind(x) == kind(low if low is not None else high)
                and (low is None or x > low or (includes_low and x == low))
                and (high is None or x < high or (includes_high and x == high))
            )


def entries(metadata: Mapping[str, Any], field: str) -> list[Any]:
    if field not in metadata:
        return []
    value = metadata[field]
    return value if isinstance(value, list) else [value]


def kind(value: object) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def drawn(rng: np.random.Generator, count: int = 1) -> Floats:
    """(count, DIM) random unit vectors."""
    vectors: Floats = unit_rows(rng.normal(size=(count, DIM))).astype(np.float32)
    return vectors


def random_change(
    rng: np.random.Generator, doc_id: str, metadata: Mapping[str, Any], passages: int = 1
) -> VectorChange:
    return VectorChange(doc_id, 1, drawn(rng, passages), metadata)


def deletion(doc_id: str) -> VectorChange:
    return VectorChange(doc_id, 2, None, {})


def assert_same(found: list[Hit], expected: list[Hit]) -> None:
    assert [hit.id for hit in found] == [hit.id for hit in expected]
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-6)
    for hit, other in zip(found, expected, strict=True):
        assert hit.passages[0].score == hit.score
        assert [each.number for each in hit.passages] == [each.number for each in other.passages]
        assert [each.score for each in hit.passages] == pytest.approx([each.score for each in other.passages], abs=1e-6)


@pytest.mark.parametrize("engine", NAMES)
@settings(max_examples=30)
@given(
    steps=st.lists(st.tuples(ACTIONS, st.integers(0, 12), METADATA, st.sampled_from([1, 1, 2, 9])), max_size=60),
    k=st.integers(1, 20),
    passages=st.integers(1, 4),
    min_score=st.sampled_from([-1.0, 0.0, 0.5]),
    seed=st.integers(0, 999),
)
def test_any_history_of_changes_matches_the_oracle(
    engine: str, steps: list[tuple[str, int, dict[str, Any], int]], k: int, passages: int, min_score: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    index, oracle = empty(engine), Oracle()
    for action, number, metadata, count in steps:
        doc_id = f"d{number}"
        change = deletion(doc_id) if action == "delete" else random_change(rng, doc_id, metadata, count)
        if action == "relabel" and doc_id in oracle.documents:
            change = replace(oracle.documents[doc_id], metadata=metadata)
        for each in (index, oracle):
            each.apply([change])
    assert len(index) == len(oracle.documents)
    query = drawn(rng)
    for definition in FILTERS:
        where = None if definition is None else parse_filter(definition)
        hits = index.search(query, k, where, passages, min_score)[1][0]
        assert_same(hits, oracle.search(query[0], k, where, passages, min_score))
        if where is not None:
            assert [notice.code for notice in index.mismatches(where)] == oracle.mismatches(where)


@pytest.mark.parametrize("engine", NAMES)
@settings(max_examples=20)
@given(
    documents=st.lists(st.tuples(METADATA, st.integers(1, 3), st.booleans()), max_size=20),
    most=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_counts_and_facets_match_the_oracle(
    engine: str, documents: list[tuple[dict[str, Any], int, bool]], most: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    index, oracle = empty(engine), Oracle()
    for number, (metadata, passages, deleted) in enumerate(documents):
        for each in (index, oracle):
            each.apply([random_change(rng, f"d{number}", metadata, passages)])
            each.apply([deletion(f"d{number}")] * deleted)
    for definition in FILTERS:
        where = None if definition is None else parse_filter(definition)
        matching = [each.metadata for each in oracle.documents.values() if where is None or holds(where, each.metadata)]
        bounds = Between("size", -1, 2, includes_low=bool(most % 2), includes_high=bool(seed % 2))
        facets = {"tags": FacetQuery(most), "flag": FacetQuery(9), "nothing": FacetQuery(1, [bounds])}
        counted = index.count(where, facets | {"size": FacetQuery(most, [bounds, replace(bounds, high=None)])})
        ranges = [[each for each in matching if holds(of, each)] for of in (bounds, replace(bounds, high=None))]
        assert counted.facets["size"].ranges == list(map(len, ranges))
        assert counted.documents == len(matching)
        for field, facet in counted.facets.items():
            values = Counter(
                pair
                for metadata in matching
                for pair in {(kind(each), each) for each in entries(metadata, field) if not isinstance(each, dict)}
            )
            assert facet.distinct == len(values)
            assert len(facet.values) == min(len(values), 9 if field == "flag" else 1 if field == "nothing" else most)
            found = {(kind(each.value), each.value): each.documents for each in facet.values}
            assert found == {pair: values[pair] for pair in found}
            assert sorted(values.values(), reverse=True)[: len(found)] == [each.documents for each in facet.values]


def test_filters_mean_what_the_page_says(index: CollectionIndex) -> None:
    values: list[Any] = ["hr-a", "hr-", ["it", "hr-b"], None, [], {"name": "hr-c"}, "HR-a"]
    teams: list[Mapping[str, Any]] = [*({"team": value} for value in values), {}]
    rng = np.random.default_rng(0)
    index.apply([random_change(rng, str(i), metadata) for i, metadata in enumerate(teams)])
    index.apply([random_change(rng, "gone", teams[0]), deletion("gone")])
    query = drawn(rng)
    cases: list[tuple[Mapping[str, Any], str]] = [
        ({"team": {"prefix": "hr-"}}, "012"),
        ({"team": {"exists": True}}, "01236"),
        ({"team": {"exists": False}}, "457"),
        ({"not": {"team": {"prefix": "hr-"}}}, "34567"),
        ({"not": {"team": {"exists": False}}}, "01236"),
        ({"not": {"not": {"team": None}}}, "3"),
        ({"team": {"exists": True}, "not": {"team": {"in": ["it", None]}}}, "016"),
    ]
    for where, expected in cases:
        hits = index.search(query, 20, parse_filter(where))[1][0]
        assert sorted(hit.id for hit in hits) == list(expected), where


def test_scores_do_not_depend_on_the_number_of_queries(index: CollectionIndex) -> None:
    """FAISS computes 20 or more queries by other arithmetic than fewer."""
    rng = np.random.default_rng(0)
    index.apply([random_change(rng, f"d{i}", {}) for i in range(300)])
    queries = drawn(rng, 64)
    alone = [index.search(query[None], 10, None)[1][0] for query in queries]
    for count in (1, 19, 20, 21, 64):
        assert index.search(queries[:count], 10, None)[1] == alone[:count]


def test_k_hits_are_returned_whenever_k_match(index: CollectionIndex) -> None:
    rng, oracle, count = np.random.default_rng(1), Oracle(), 3000
    changes = [random_change(rng, f"d{i}", {"place": i}) for i in range(count)]
    deletions = [deletion(f"d{i}") for i in range(0, count, 2)]
    for each in (index, oracle):
        each.apply(changes)
        each.apply(deletions)
    query = drawn(rng)
    for share in (0.001, 0.01, 0.1, 0.5, 1.0):
        where = parse_filter({"place": {"lt": share * count}})
        assert_same(index.search(query, 10, where)[1][0], oracle.search(query[0], 10, where))


def test_equal_scores_are_ordered_by_id(index: CollectionIndex) -> None:
    same = unit_rows(np.ones(DIM)).astype(np.float32)
    index.apply([VectorChange(doc_id, 1, same[None], {}) for doc_id in ("c", "a", "b")])
    assert [hit.id for hit in index.search(same[None], 3, None)[1][0]] == ["a", "b", "c"]


def test_a_document_of_many_passages_crowds_out_no_other(index: CollectionIndex) -> None:
    rng, oracle = np.random.default_rng(5), Oracle()
    query = drawn(rng)
    near = unit_rows(query + 0.1 * rng.normal(size=(500, DIM))).astype(np.float32)
    changes = [VectorChange("book", 1, near, {}), *(random_change(rng, f"d{i}", {}, 1 + i % 3) for i in range(40))]
    for each in (index, oracle):
        each.apply(changes)
    assert (len(index), index.rows) == (41, 500 + sum(1 + i % 3 for i in range(40)))
    for k in (10, 100):
        assert_same(index.search(query, k, None, 3)[1][0], oracle.search(query[0], k, None, 3))


def test_only_queries_near_a_long_document_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    index, oracle, rng = empty("exact"), Oracle(), np.random.default_rng(5)
    queries = np.eye(DIM, dtype=np.float32)
    near = [unit_rows(each + 0.1 * rng.normal(size=(3, DIM))).astype(np.float32) for each in queries]
    others = [VectorChange(f"d{i}-{j}", 1, row[None], {}) for i, rows in enumerate(near) for j, row in enumerate(rows)]
    book = unit_rows(queries[3] + 0.01 * rng.normal(size=(100, DIM))).astype(np.float32)
    for each in (index, oracle):
        each.apply([VectorChange("book", 1, book, {}), *others])
    search, searched = index._rows.search, list[tuple[int, int]]()

    def counted(queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        searched.append((len(queries), k))
        return search(queries, k, allowed)

    monkeypatch.setattr(index._rows, "search", counted)
    hits = index.search(queries, 3, None)[1]
    assert searched == [(DIM, 4), (1, 16), (1, 64), (1, 124)]
    for query, found in zip(queries, hits, strict=True):
        assert_same(found, oracle.search(query, 3, None))


def test_new_metadata_alone_takes_no_new_row(index: CollectionIndex) -> None:
    vector = unit_rows(np.ones(DIM)).astype(np.float32)
    index.apply([VectorChange("d", 1, vector[None], {"color": "red"})])
    index.apply([VectorChange("d", 2, vector[None], {"color": "blue"})])
    assert len(index._rows) == 1
    assert index.search(vector[None], 1, parse_filter({"color": "red"}))[1] == [[]]
    assert [hit.id for hit in index.search(vector[None], 1, parse_filter({"color": "blue"}))[1][0]] == ["d"]


def test_a_mismatch_names_its_condition_and_both_types(index: CollectionIndex) -> None:
    rng = np.random.default_rng(0)
    index.apply([random_change(rng, "d", {"a/b": [1, "x"], "flag": True, "deep": {"x": 1}})])
    where = {"or": [{"a/b": None}, {"and": [{"a/b": 2, "flag": {"gt": 0, "lt": 1}}]}], "deep": {"in": [1, "y"]}}
    found = index.mismatches(parse_filter(where))
    assert [(each.pointer, each.code) for each in found] == [
        ("/filter/or/0/a~1b", "filter_type_mismatch"),
        ("/filter/or/1/and/0/flag", "filter_type_mismatch"),
        ("/filter/deep", "unknown_metadata_field"),
    ]
    assert "numbers or strings in the metadata field 'a/b', never null" in found[0].detail
    assert "true or false in the metadata field 'flag', never numbers" in found[1].detail


def test_the_version_is_that_of_the_last_advance(index: CollectionIndex) -> None:
    assert index.version == Version("epoch", 0)
    index.advance(Version("epoch", 7))
    assert index.version == Version("epoch", 7)
    assert index.search(np.ones((2, DIM), np.float32), 1, None) == (Version("epoch", 7), [[], []])
    assert index.vectors(["a"]) == {}


@pytest.mark.parametrize("engine", NAMES)
def test_an_engine_is_named_like_its_file(engine: str) -> None:
    assert catalogue.find(ENGINES, engine).name == engine


class Many:
    """More clustered rows than are scanned, and filters that allow different shares of them."""

    COUNT = 16_000
    SHARES = (0.001, 0.01, 0.1, 0.5, 1.0)

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        centers = rng.normal(size=(200, DIM))
        noise = 0.5 * rng.normal(size=(self.COUNT + 50, DIM))
        vectors = unit_rows(centers[rng.integers(0, 200, len(noise))] + noise).astype(np.float32)
        self.vectors, self.queries = vectors[50:], vectors[:50]
        self.place = rng.permutation(self.COUNT) / self.COUNT
        self.alive = np.ones(self.COUNT, np.bool_)

    def changes(self) -> list[VectorChange]:
        shares = [{str(share): True for share in self.SHARES if place < share} for place in self.place]
        sides = [{"side": "left" if vector[0] < 0 else "right"} for vector in self.vectors]
        return [VectorChange(str(i), 1, self.vectors[i][None], shares[i] | sides[i]) for i in range(self.COUNT)]

    def delete_half(self) -> list[VectorChange]:
        self.alive[::2] = False
        return [deletion(str(i)) for i in range(0, self.COUNT, 2)]

    def check_shares(self, index: CollectionIndex, exact: bool) -> None:
        for share in self.SHARES:
            where = None if share == 1 else parse_filter({str(share): True})
            self.check(index, where, self.queries, self.place < share, exact)

    def check_sides(self, index: CollectionIndex, exact: bool) -> None:
        """Check filters that allow only rows far from the queries."""
        for side, queries, rows in (
            ("left", self.queries[:, 0] > 0.2, self.vectors[:, 0] < 0),
            ("right", self.queries[:, 0] < -0.2, self.vectors[:, 0] >= 0),
        ):
            self.check(index, parse_filter({"side": side}), self.queries[queries], rows, exact)

    def check(
        self, index: CollectionIndex, where: Filter | None, queries: Floats, matching: Flags, exact: bool
    ) -> None:
        """Check that scores are exact, and all documents or, if approximate, 95 % of them."""
        numbers = np.flatnonzero(matching & self.alive)
        products = queries.astype(np.float64) @ self.vectors.astype(np.float64).T
        shared = 0.0
        for hits, scores in zip(index.search(queries, 10, where)[1], products, strict=True):
            nearest = [str(i) for i in numbers[np.argsort(-scores[numbers])][:10]]
            ids = [hit.id for hit in hits]
            assert len(set(ids)) == len(ids) == len(nearest)
            assert [hit.score for hit in hits] == pytest.approx([scores[int(each)] for each in ids], abs=1e-6)
            if exact or (len(numbers) <= SCANNED and not index._rows.rounds):  # rounding swaps near ties
                assert ids == nearest
            shared += len(set(ids) & set(nearest)) / len(nearest)
        assert shared / len(queries) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("engine", NAMES)
def test_filters_and_deletions_keep_recall_with_many_rows(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than are scanned or train lists; the limits are low, to be quick."""
    monkeypatch.setattr("semblance.service.indexes.nearest.SCANNED_ROWS", SCANNED)
    for name, value in {"LISTS_PER_ROOT": 1, "MIN_ROWS": 8192, "PROBES": 12}.items():
        monkeypatch.setattr(f"semblance.service.indexes.engines.faiss_ivf.{name}", value)
    # in eight dimensions, more vectors are nearer to each other than rounding moves them
    monkeypatch.setattr("semblance.service.indexes.nearest.rescored_rows", lambda k: 10 * k)
    many, index, exact = Many(), empty(engine, Many.COUNT), catalogue.find(ENGINES, engine).exact
    index.apply(many.changes())
    assert not index.needs_rebuild
    many.check_shares(index, exact)
    many.check_sides(index, exact)
    index.apply(many.delete_half())
    many.check_shares(index, exact)


def test_changes_run_between_the_queries_of_a_search(index: CollectionIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    changes = [random_change(rng, f"d{i}", {}) for i in range(300)]
    index.apply(changes)
    index.advance(Version("epoch", 1))
    queries = np.concatenate([change.vectors for change in changes if change.vectors is not None])
    search = index._nearest.search
    searched: list[int] = []
    changes_begun: list[Future[None]] = []

    def change() -> None:
        index.apply([deletion("d299")])
        index.advance(Version("epoch", 2))

    def watched(*arguments: Any) -> list[Any]:
        searched.append(len(arguments[0]))
        if len(searched) == 2:
            changes_begun.append(pool.submit(change))
            until(lambda: index._lock._waiting_writers, "the change to wait for its turn")
        return search(*arguments)

    monkeypatch.setattr(index._nearest, "search", watched)
    with ThreadPoolExecutor(1) as pool:
        version, hits = index.search(queries, 1, None)
        changes_begun[0].result()
    assert sum(searched) == len(queries)
    assert version == Version("epoch", 1), "the version of the first queries"
    assert [each[0].id for each in hits[:299]] == [f"d{i}" for i in range(299)]
    assert hits[299][0].id != "d299", "the change was applied in between"


class SearchedTexts(Sequence[str]):
    """Texts of passages; searches run whenever one is read."""

    def __init__(self, texts: Sequence[str], search: Callable[[], object]) -> None:
        self._texts = texts
        self._search = search

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[str]: ...
    def __getitem__(self, i: int | slice) -> str | Sequence[str]:
        self._search()
        return self._texts[i]


def test_searches_run_while_texts_are_split_into_terms(index: CollectionIndex) -> None:
    rng = np.random.default_rng(6)
    texts = ["a lamp", "a chair", "a lamp and a chair"]
    query = HybridQuery(unit_rows(np.ones(DIM)).astype(np.float32), query_terms("lamp"), terms_only=True)
    with ThreadPoolExecutor(1) as pool:

        def search() -> list[str]:
            found = pool.submit(index.search_hybrid, query, 5, None, 1).result()
            return [hit.id for hit in found.hits]

        change = replace(random_change(rng, "d", {}, 3), texts=SearchedTexts(texts, search))
        for _ in range(2):  # the second change is the same again
            index.apply([change])
            assert search() == ["d"]
        index.apply([replace(change, texts=SearchedTexts(texts[::-1], search))])
        assert index.rows == 6


def test_searches_concurrent_with_changes_find_unchanged_documents(
    index: CollectionIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every search finds the documents that stay, whatever else is added and removed."""
    monkeypatch.setattr("semblance.service.indexes.nearest.SCANNED_ROWS", 0)
    rng = np.random.default_rng(3)
    staying = [random_change(rng, f"stays{i}", {}) for i in range(20)]
    index.apply(staying)
    queries = np.concatenate([change.vectors for change in staying if change.vectors is not None])
    done = threading.Event()

    def change() -> None:
        for _ in range(10):
            index.apply([random_change(rng, f"d{i}", {}) for i in range(400)])
            index.apply([deletion(f"d{i}") for i in range(0, 400, 2)])
        done.set()

    def search() -> int:
        searches = 0
        while not done.is_set():
            hits = index.search(queries, 3, None)[1]
            assert [each[0].id for each in hits] == [change.id for change in staying]
            assert set(index.vectors([change.id for change in staying])) == {change.id for change in staying}
            searches += 1
        return searches

    with ThreadPoolExecutor(4) as pool:
        searchers = [pool.submit(search) for _ in range(3)]
        pool.submit(change).result()
        assert all(searcher.result() > 0 for searcher in searchers)
    assert len(index) == 20 + 200


PARCELS = ["lost parcel"] * 3 + ["parcel parcel river"] * 120 + ["a lost parcel at the river"] * 2


@pytest.mark.parametrize("mode", ["vector", "terms"])
def test_equals_are_cut_by_their_ids_for_any_k(index: CollectionIndex, mode: str) -> None:
    rng = np.random.default_rng(7)
    directions = {text: unit_rows(rng.normal(size=(1, DIM))).astype(np.float32) for text in PARCELS}
    changes = [
        VectorChange(f"{rng.integers(10**6):06}-{i}", 1, directions[text], {}, [text]) for i, text in enumerate(PARCELS)
    ]
    index.apply(changes)
    query = HybridQuery(directions["lost parcel"][0], query_terms("lost parcel"), terms_only=True)

    def found(k: int) -> list[tuple[float, str]]:
        if mode == "vector":
            return [(-hit.score, hit.id) for hit in index.search(query.vector[None], k, None)[1][0]]
        hits = index.search_hybrid(query, k, None, 1).hits
        return [(-sum(term.score for term in hit.passages[0].terms or ()), hit.id) for hit in hits]

    everything = found(len(PARCELS))
    assert len(everything) == len(PARCELS)
    assert everything == sorted(everything)
    for k in (1, 3, 4, 15, 50, 124):
        assert found(k) == everything[:k], k


def test_to_the_zero_vector_all_documents_are_equal(index: CollectionIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a text without a word of a table: the engine is not asked for all of its rows."""
    rng = np.random.default_rng(8)
    index.apply([random_change(rng, f"d{i:02}", {"color": "red" if i % 2 else "blue"}, 1 + i % 3) for i in range(40)])
    monkeypatch.setattr(index._rows, "search", lambda *_: pytest.fail("the engine was asked"))
    zeros = np.zeros((3, DIM), np.float32)
    for where, step in ((None, 1), (parse_filter({"color": "blue"}), 2)):
        _, hits = index.search(zeros, 5, where)
        assert hits == [[Hit(f"d{i:02}", 0.0, [PassageHit(0, 0.0)]) for i in range(0, 5 * step, step)]] * 3
        assert index.search(zeros, 5, where, min_score=0.0)[1] == hits
        assert index.search(zeros, 5, where, min_score=0.1)[1] == [[], [], []]


class CoarseRows(Exact):
    """An engine that rounds its rows much more than any real one."""

    rounds: ClassVar[bool] = True

    def rounded(self, vectors: Floats) -> Floats:
        return (np.round(vectors * 32) / 32).astype(np.float32)

    def add(self, vectors: Floats) -> None:
        super().add(self.rounded(vectors))


def test_ties_of_rounded_rows_are_found_for_any_k() -> None:
    """Rows that round to more than their exact score displace no equal ones."""
    rng, rows = np.random.default_rng(9), CoarseRows(DIM, 0)
    query = unit_rows(np.ones((1, DIM))).astype(np.float32)
    same = unit_rows(query + 0.3 * rng.normal(size=(1, DIM))).astype(np.float32)
    near = unit_rows(same + 0.02 * rng.normal(size=(2000, DIM))).astype(np.float32)
    exact, rounded = (near - same) @ query[0], (rows.rounded(near) - rows.rounded(same)) @ query[0]
    displacing = near[(exact < -1e-4) & (rounded > 1e-4)][:15]
    assert len(displacing) == 15
    ids = [f"{i:02}" for i in rng.permutation(55)]
    vectors = {doc_id: row[None] for doc_id, row in zip(ids, [*displacing, *same.repeat(40, axis=0)], strict=True)}
    index = CollectionIndex(rows, "epoch", "exact", lambda ids: {each: vectors[each] for each in ids})
    index.apply([VectorChange(doc_id, 1, own, {}) for doc_id, own in vectors.items()])
    for k in (1, 3, 5, 8, 20, 39, 40):
        assert [hit.id for hit in index.search(query, k, None)[1][0]] == sorted(ids[15:])[:k], k
