"""Pages of a search, one after the other, are one long answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semblance_client.vocabulary.search import SearchRequest

from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.ports.documents import CollectionSettings, Document, Version, Write
from semblance.service.ports.indexes import HybridHit, HybridHits
from semblance.service.usecases.search.ordering import Step, in_steps
from semblance.service.usecases.search.params import SearchParams
from tests.service.usecases.one_service import LIMITS, OneService, running
from tests.support.random_encoder import RandomEncoder
from tests.support.vectors import one_passage

COUNT = 330
BOOSTS = [{"field": "n", "full_at": COUNT, "weight": 0.5}]
ONE_LIST: list[dict[str, Any]] = [{"mode": "vector"}, {"mode": "lexical"}, {"mode": "vector", "boosts": BOOSTS}]
BOTH_LISTS: list[dict[str, Any]] = [
    {},
    {"mode": "auto"},
    {"boosts": BOOSTS},
    {"min_score": 0.1},
    {"filter": {"n": {"lt": 120}}},
    {"field_weights": {"text": 2}},
    {"candidates": 400},
    {"candidates": 400, "sort": {"field": "n", "descending": True}},
    {"like": "d7", "mode": "hybrid"},
]
CHOSEN: list[dict[str, Any]] = [
    {"sort": {"field": "n", "descending": True}},
    {"sort": {"field": "n"}, "mode": "vector", "min_score": 0.1},
    {"group_by": "n", "group_size": 2},
    {"diversity": 0.5},
]


async def found(service: OneService, k: int, offset: int, options: dict[str, Any]) -> list[tuple[str, float]]:
    query = {} if "like" in options else {"query": "error w1 w2 ERR-4012"}
    request = SearchRequest.model_validate({**query, "collection": "c", "k": k, "offset": offset, **options})
    return [(hit.id, hit.score) for hit in (await service.search.search(request)).hits]


async def test_pages_make_one_long_answer(tmp_path: Path) -> None:
    encoder, rng = RandomEncoder("m", "s", 16), random.Random(0)
    words = [f"w{n}" for n in range(12)]
    texts = [f"error ERR-{4000 + n} " + " ".join(rng.choices(words, k=rng.randint(2, 9))) for n in range(COUNT)]
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    store.create("c", CollectionSettings("m", encoder.space, encoder.dim, "cosine", "exact", "none"))
    documents = [Document(f"d{n}", text, {"n": rng.randrange(COUNT // 2)}) for n, text in enumerate(texts)]
    writes = [Write(each, one_passage(encoder.vector(each.text)[0])) for each in documents]
    store.upsert(store.collection("c"), writes)
    async with running(OneService(store, tmp_path, encoder)) as service:
        await service.local.refresh_index("c")
        for options in ONE_LIST + BOTH_LISTS + CHOSEN:
            reached = 100 if options in CHOSEN else COUNT
            whole = await found(service, reached, 0, options)
            for k in (11, 60) if options == {} else (37,):
                pages = [hit for at in range(0, reached + k, k) for hit in await found(service, k, at, options)]
                assert pages == whole, options
            assert len({doc_id for doc_id, _ in whole}) == len(whole), options
            complete = not options.keys() & {"min_score", "filter", "like", "group_by"} and options not in CHOSEN
            assert not complete or len(whole) == COUNT, options


@pytest.mark.parametrize(
    "options", [{"rerank_model": "r"}, {"sort": {"field": "n"}}, {"group_by": "n"}, {"diversity": 0.1}]
)
def test_orders_of_all_candidates_have_as_many_on_each_page(options: dict[str, Any]) -> None:
    for k, expected in ((10, 100), (150, 150)):
        for offset in (0, 40, 500):
            request = SearchRequest.model_validate({"query": "a", "k": k, "offset": offset, **options})
            assert SearchParams.of(request, LIMITS).steps == [Step(expected, expected)]


@given(values=st.lists(st.integers(0, 5), max_size=40), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_hits_stay_in_their_places_when_candidates_are_added(values: list[int], sizes: list[int]) -> None:
    steps = [Step(2 * sum(sizes[: n + 1]), sum(sizes[: n + 1])) for n in range(len(sizes))]
    ids = list(map(str, range(len(values))))

    def hits(part: list[Step]) -> list[str]:
        candidates = [HybridHit(each, None, None, []) for each in ids[: part[-1].candidates]]
        ranked = sorted(candidates, key=lambda hit: (values[int(hit.id)], hit.id))
        found = HybridHits(Version("e", 1), candidates, codes=(), missing=(), matched=0.0)
        return [hit.id for hit in in_steps(ranked, found, part)]

    whole = hits(steps)
    assert sorted(whole) == sorted(ids[: steps[-1].candidates])
    for n in range(1, len(steps)):
        assert hits(steps[:n])[: steps[n - 1].hits] == whole[: steps[n - 1].hits]
