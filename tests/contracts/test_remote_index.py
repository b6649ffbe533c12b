"""Contract of a remote index: the same results as an exhaustive search of the primary."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from semblance.models.embeddings import Floats, unit_rows
from semblance.models.tokenization.terms import query_terms
from semblance.service.errors import NotWithRemoteIndex
from semblance.service.filters import parse_filter
from semblance.service.ports.documents import Version
from semblance.service.ports.indexes import DocumentSelection, FacetQuery, Hit, HybridQuery
from semblance.service.replication.stateless.stateless_replica import StatelessReplica
from tests.contracts.test_indexes import FILTERS
from tests.support.servers.postgres_server import PostgresServer
from tests.support.stateless_replicas import DIM, SETTINGS, exhaustive, passages_in, search, stateless_replica, upsert

pytestmark = pytest.mark.slow

DOCUMENTS = 60
K = 10


def vectors(rng: np.random.Generator, most: int) -> Floats:
    drawn: Floats = unit_rows(rng.normal(size=(rng.integers(1, most + 1), DIM))).astype(np.float32)
    return drawn


def metadata(rng: random.Random) -> dict[str, Any]:
    fields = {
        "color": rng.choice(["red", "green", "blue"]),
        "size": rng.choice([-2, -1, 0, 0.5, 1, 3]),
        "flag": rng.choice([True, False, None, 1]),
        "tags": rng.sample(["a", "b", "c"], rng.randint(0, 3)),
        "name": rng.choice(["a", "a\uffff", "b", "ab\U0001f642", {"nested": "a"}]),
    }
    return {field: value for field, value in fields.items() if rng.random() < 0.7}


async def agrees(one: StatelessReplica, queries: Floats, at: Version, passages: int = 1) -> list[list[Hit]]:
    found = []
    for query in queries:
        for json in FILTERS:
            where = None if json is None else parse_filter(json)
            hits = await search(one, query, K, where, at, passages)
            expected = await one.read(lambda store: exhaustive(store, query, K, where))  # noqa: B023 - at once
            assert [hit.id for hit in hits] == [doc_id for doc_id, _ in expected], json
            assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], abs=1e-6)
            found.append(hits)
    return found


async def test_results_equal_those_of_an_exhaustive_search(database: PostgresServer, milvus: str) -> None:
    """After writes, updates of text and of metadata, deletions, and a new collection of the same name."""
    rng, choices = np.random.default_rng(0), random.Random(0)
    queries = unit_rows(rng.normal(size=(2, DIM))).astype(np.float32)
    async with stateless_replica(database.url, milvus) as one:
        for most in (3, 1):  # passages of a document
            await one.write("c", lambda store: store.create("c", SETTINGS.cut_as(None)))
            for number in (*range(DOCUMENTS), *range(0, DOCUMENTS, 3)):
                await one.write("c", upsert(f'd"{number}\\', vectors(rng, most), metadata(choices)))
            for number in range(1, DOCUMENTS, 7):
                version = await one.write("c", lambda store: store.delete("c", f'd"{number}\\'))  # noqa: B023 - at once
            assert any(await agrees(one, queries, version))
            store = await one.read(lambda store: store)
            assert passages_in(milvus, store) == store.sizes(["c"])[0][1].passages, "none of a former version is left"
            await one.drop("c")


async def test_hits_have_their_best_passages(database: PostgresServer, milvus: str) -> None:
    rng = np.random.default_rng(1)
    async with stateless_replica(database.url, milvus) as one:
        await one.write("c", lambda store: store.create("c", SETTINGS))
        own = unit_rows(rng.normal(size=(5, DIM))).astype(np.float32)
        await one.write("c", upsert("d", own, {}))
        [hit] = await search(one, own[3], 1, passages=2)
        products = own.astype(np.float64) @ own[3].astype(np.float64)
        best = np.argsort(-products)[:2].tolist()
        assert [each.number for each in hit.passages] == best
        assert [each.score for each in hit.passages] == pytest.approx(products[best].tolist(), abs=1e-6)


async def test_documents_below_the_minimum_score_are_no_hits(database: PostgresServer, milvus: str) -> None:
    async with stateless_replica(database.url, milvus) as one:
        await one.write("c", lambda store: store.create("c", SETTINGS))
        axes = np.eye(DIM, dtype=np.float32)
        rows = unit_rows(axes[:1] + np.array([[0.0], [0.25], [0.75]]) * axes[1]).astype(np.float32)
        for number, row in enumerate(rows):
            await one.write("c", upsert(f"d{number}", row[None], {}))
        _, index = await one.current("c", None)
        [near] = (await one.search(lambda _: index.search(axes[:1], 3, None, min_score=0.9)))[1]
        [every] = (await one.search(lambda _: index.search(axes[:1], 3, None)))[1]
        assert [hit.id for hit in near] == ["d0", "d1"]
        assert [hit.id for hit in every] == ["d0", "d1", "d2"]


async def test_what_needs_a_local_index_is_refused(database: PostgresServer, milvus: str) -> None:
    async with stateless_replica(database.url, milvus) as one:
        await one.write("c", lambda store: store.create("c", SETTINGS))
        _, index = await one.current("c", None)
        where = parse_filter({"color": "red"})
        refused: list[Callable[[], object]] = [
            lambda: index.count(where, {}),
            lambda: index.count(None, {"color": FacetQuery(3)}, ["d"]),
            lambda: index.select(DocumentSelection(where, 10)),
            lambda: index.search_hybrid(HybridQuery(np.zeros(DIM, np.float32), query_terms("a")), 3, None, 1),
            lambda: index.terms_of(query_terms("a"), []),
            lambda: index.words_beginning("a", None, 3),
            lambda: index.values_beginning("color", ["a"], None, 3),
            lambda: len(index),
        ]
        for call in refused:
            with pytest.raises(NotWithRemoteIndex, match="SEMBLANCE_INDEX_URL"):
                call()
