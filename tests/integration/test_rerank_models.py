"""A cross-encoder orders searches and reranks; words and thresholds stay those of the first stage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from semblance_client import AsyncClient, Client
from sentence_transformers import CrossEncoder

from tests.integration.conftest import Api, code_of, require_no_internal_errors, served, total
from tests.support.cross_encoders import QUERY, TEXTS, save_cross_encoder
from tests.support.small_model import edit

ROUNDING = 2e-5
FOLDERS = {"bert": "bert", "xlmr": "xlm-roberta"}
LONG = " ".join(f"Sentence {i} of a story about parcels." for i in range(60))
DOCUMENTS = [*TEXTS[:4], "parcel", "A parcel came.", "Nothing came."]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("rerankers")
    made = {name: save_cross_encoder(home / name, kind, max_tokens=128) for name, kind in FOLDERS.items()}
    edit(made["xlmr"] / "config.json", sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity"})
    return made


@pytest.fixture(scope="module")
def api(folders: dict[str, Path]) -> Iterator[Api]:
    listed = ",".join(f"{name}={folder}" for name, folder in folders.items())
    with served(sample="1", rerank_models=listed, model_aliases="rerank-v3.5=bert@cosine") as (service, api):
        yield api
        require_no_internal_errors(service)


def predicted(folders: dict[str, Path], name: str, texts: list[str], query: str = QUERY) -> list[float]:
    model = CrossEncoder(str(folders[name]), device="cpu", local_files_only=True)
    scores: list[float] = model.predict([(query, text) for text in texts]).tolist()
    return scores


def ranked(api: Api, **fields: Any) -> Any:
    return api.ok("/v2/rerank", {"query": QUERY, "documents": DOCUMENTS, **fields})


def order(found: dict[str, Any]) -> list[int]:
    return [each["index"] for each in found["results"]]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_rerank_has_the_scores_of_the_cross_encoder(api: Api, folders: dict[str, Path], name: str) -> None:
    expected = predicted(folders, name, DOCUMENTS)
    found = ranked(api, rerank_model=name)
    assert (found["model"], found["rerank_model"], found["measure"]) == ("minilm-graded", name, "rcmd1_words")
    assert order(found) == sorted(range(len(DOCUMENTS)), key=lambda i: -expected[i])
    for each in found["results"]:
        assert each["rerank_score"] == pytest.approx(expected[each["index"]], abs=ROUNDING)
        assert 0 < each["relevance_score"] < 1
    if name == "bert":
        assert all(each["relevance_score"] == pytest.approx(each["rerank_score"]) for each in found["results"])


def test_the_first_stage_is_as_without_a_rerank_model(api: Api) -> None:
    options = {"measure": "rcmd", "explain": True, "relevant_spans": {"threshold": 0}}
    plain = {each["index"]: each for each in ranked(api, **options)["results"]}
    found = ranked(api, rerank_model="bert", **options)
    assert order(found) != list(plain)
    for each in found["results"]:
        own = plain[each["index"]]
        assert each["raw_score"] == pytest.approx(own["raw_score"], abs=1e-6)
        assert each["explanation"] == own["explanation"]
        assert each.get("relevant_spans") == own.get("relevant_spans")
        assert total(each["explanation"]) == pytest.approx(each["raw_score"], abs=1e-5)


def test_clients_of_other_apis_name_it_as_their_model(api: Api, folders: dict[str, Path]) -> None:
    own = ranked(api, rerank_model="bert", measure="cosine")
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        for fields in ({"model": "bert", "measure": "cosine"}, {"model": "bert@cosine"}, {"model": "rerank-v3.5"}):
            found = api.ok(path, {"query": QUERY, "documents": DOCUMENTS, "top_n": 9, **fields})
            assert found["results"] == own["results"]
    voyage = api.ok("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS, "model": "bert", "top_k": None})
    assert voyage["model"] == "bert"
    assert [each["index"] for each in voyage["data"]] == order(own)
    raw = api.ok("/rerank", {"query": QUERY, "texts": DOCUMENTS, "model": "xlmr", "raw_scores": True})
    expected = predicted(folders, "xlmr", DOCUMENTS)
    assert [each["score"] for each in raw] == pytest.approx(sorted(expected, reverse=True), abs=ROUNDING)


def test_a_long_document_counts_by_its_best_passage(api: Api, folders: dict[str, Path]) -> None:
    [whole] = ranked(api, rerank_model="xlmr", documents=[LONG])["results"]
    [beginning] = ranked(api, rerank_model="xlmr", documents=[LONG], max_chunks_per_doc=1)["results"]
    assert whole["rerank_score"] >= beginning["rerank_score"]
    refused = {"query": QUERY, "documents": [LONG], "rerank_model": "xlmr", "truncation": False}
    assert code_of(api.post("/rerank", refused)) == (400, "text_too_long")
    [cut] = ranked(api, rerank_model="bert", documents=["parcel " * 50], max_tokens_per_doc=20)["results"]
    shown = predicted(folders, "bert", ["parcel " * n for n in range(14, 22)])
    assert min(abs(score - cut["rerank_score"]) for score in shown) < ROUNDING


def test_documents_without_text_are_last(api: Api) -> None:
    found = ranked(api, rerank_model="xlmr", documents=["", "parcel", " "])
    assert order(found) == [1, 0, 2]
    assert [("rerank_score" in each, each["relevance_score"] > 0) for each in found["results"]] == [
        (True, True),
        (False, False),
        (False, False),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"measure": "rcmd", "explain": True, "highlight": True},
        {"mode": "hybrid", "filter": {"category": "shipping"}},
        {"mode": "lexical"},
    ],
)
def test_a_search_has_the_order_of_the_cross_encoder(
    api: Api, folders: dict[str, Path], fields: dict[str, Any]
) -> None:
    first = {
        hit["id"]: hit
        for hit in api.ok("/search", {"query": QUERY, "k": 12, "candidates": 12, **fields})["results"][0]["hits"]
    }
    found = api.ok("/search", {"query": QUERY, "k": 4, "candidates": 12, "rerank_model": "bert", **fields})
    assert (found["rerank_model"], found["model"]) == ("bert", "minilm-graded")
    hits = found["results"][0]["hits"]
    expected = dict(zip(first, predicted(folders, "bert", [hit["text"] for hit in first.values()]), strict=True))
    best = sorted(expected, key=lambda name: -expected[name])[:4]
    assert [hit["id"] for hit in hits] == best
    for hit in hits:
        own = first[hit["id"]]
        assert hit["rerank_score"] == pytest.approx(expected[hit["id"]], abs=ROUNDING)
        assert hit["score"] == pytest.approx(own["score"], abs=1e-6)
        assert hit["highlight"] == own["highlight"]
        if hit["explanation"]:
            assert total(hit["explanation"]) == pytest.approx(hit["score"], abs=1e-5)
    assert all(hit["rerank_score"] is None for hit in first.values())


def test_thresholds_of_the_first_stage_choose_what_is_read(api: Api) -> None:
    body = {"query": QUERY, "k": 5, "candidates": 50, "rerank_model": "bert", "mode": "vector"}
    scores = [
        hit["score"] for hit in api.ok("/search", {"query": QUERY, "k": 50, "mode": "vector"})["results"][0]["hits"]
    ]
    hits = api.ok("/search", {**body, "min_score": scores[5]})["results"][0]["hits"]
    assert len(hits) == 5
    assert min(hit["score"] for hit in hits) >= scores[5]
    order = [hit["rerank_score"] for hit in hits]
    assert order == sorted(order, reverse=True)


def test_groups_keep_the_order_of_the_cross_encoder(api: Api) -> None:
    body = {"query": QUERY, "k": 60, "candidates": 60, "rerank_model": "bert"}
    ungrouped = api.ok("/search", body)["results"][0]["hits"]
    firsts: dict[str, str] = {}
    for hit in ungrouped:
        firsts.setdefault(hit["metadata"]["category"], hit["id"])
    grouped = api.ok("/search", {**body, "k": 3, "group_by": "category"})["results"][0]["hits"]
    assert [hit["id"] for hit in grouped] == list(firsts.values())[:3]


def test_each_query_of_a_search_has_its_own_scores(api: Api) -> None:
    queries = [QUERY, "two bills"]
    body = {"k": 5, "candidates": 5, "rerank_model": "bert"}
    together = api.ok("/search", {"queries": queries, **body})["results"]
    alone = [api.ok("/search", {"query": query, **body})["results"][0] for query in queries]
    assert [[hit["id"] for hit in each["hits"]] for each in together] == [
        [hit["id"] for hit in each["hits"]] for each in alone
    ]


def test_a_pair_is_scored_once(api: Api) -> None:
    body = {"query": "is a pair scored once", "documents": DOCUMENTS, "rerank_model": "bert"}
    first = api.ok("/v2/rerank", body)
    before = lookups(api)
    assert api.ok("/v2/rerank", body)["results"] == first["results"]
    after = lookups(api)
    assert after["absent"] == before["absent"]
    assert after["hit"] - before["hit"] == 1 + 2 * len(DOCUMENTS)
    ranked(api, query="another query", rerank_model="bert")
    assert lookups(api)["absent"] - after["absent"] == 1 + len(DOCUMENTS), "the pairs, and the query of the first stage"


def lookups(api: Api) -> dict[str, float]:
    lines = api.http.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("semblance_cache_lookups_total{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in found}


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("/search", {"query": QUERY, "rerank_model": "nosuch"}, (404, "unknown_model")),
        ("/search", {"query": QUERY, "rerank_model": "minilm"}, (404, "unknown_model")),
        ("/search", {"like": "shipping-001", "rerank_model": "bert"}, (422, "invalid_value")),
        ("/search", {"query": QUERY, "rerank_model": "bert", "diversity": 0.5}, (422, "invalid_value")),
        ("/search", {"query": "parcel " * 200, "rerank_model": "bert"}, (422, "text_too_long")),
        ("/v2/rerank", {"query": QUERY, "documents": ["a"], "rerank_model": "minilm"}, (404, "unknown_model")),
        (
            "/v2/rerank",
            {"query": QUERY, "documents": ["a"], "model": "xlmr", "rerank_model": "bert"},
            (404, "unknown_model"),
        ),
        ("/v2/rerank", {"query": "parcel " * 200, "documents": ["a"], "model": "bert"}, (400, "text_too_long")),
        ("/v1/embeddings", {"input": "a", "model": "bert"}, (404, "unknown_model")),
        ("/similarity", {"pairs": [{"a": "a", "b": "b"}], "model": "bert"}, (404, "unknown_model")),
        (
            "/rerank",
            {"query": QUERY, "texts": ["a"], "model": "bert", "truncation_direction": "Left"},
            (422, "invalid_value"),
        ),
    ],
)
def test_what_makes_no_sense_is_refused(api: Api, path: str, fields: dict[str, Any], expected: tuple[int, str]) -> None:
    assert code_of(api.post(path, fields)) == expected


def test_the_models_are_listed_with_their_kind(api: Api) -> None:
    ranked(api, rerank_model="bert")
    models = {model["name"]: model for model in api.get("/models")["models"]}
    assert [(name, model["kind"]) for name, model in models.items()][-2:] == [
        ("bert", "reranker"),
        ("xlmr", "reranker"),
    ]
    assert models["minilm"]["kind"] == "encoder"
    assert (models["bert"]["loaded"], models["bert"]["max_tokens"], models["bert"]["dim"]) == (True, 128, None)
    cards = {card["id"]: card["endpoints"] for card in api.get("/v1/models")["data"]}
    assert (cards["bert"], cards["rerank-v3.5"]) == (["rerank"], ["rerank"])
    assert cards["minilm"] == ["embed", "rerank"]
    assert api.get("/v1/models/rerank-v3.5")["context_length"] == 128


def test_the_client_names_rerank_models(api: Api, folders: dict[str, Path]) -> None:
    with Client(str(api.http.base_url)) as client:
        hits = client.search(QUERY, k=2, candidates=5, rerank_model="bert").hits
        ranking = client.rerank(QUERY, DOCUMENTS, rerank_model="bert")
        kinds = {model.name: model.kind for model in client.models()}
    assert [hit.rerank_score for hit in hits] == pytest.approx(
        predicted(folders, "bert", [hit.text for hit in hits]), abs=ROUNDING
    )
    assert ranking.rerank_model == "bert"
    assert [each.rerank_score for each in ranking.results] == pytest.approx(
        sorted(predicted(folders, "bert", DOCUMENTS), reverse=True), abs=ROUNDING
    )
    assert (kinds["minilm"], kinds["bert"]) == ("encoder", "reranker")


async def test_a_language_model_is_told_the_scores(api: Api) -> None:
    import mcp  # which takes seconds

    from semblance.service.mcp_tools import build_server

    options = {"query": QUERY, "rerank_model": "bert", "k": 3}
    async with AsyncClient(str(api.http.base_url)) as own, mcp.Client(build_server(own)) as client:
        answer: Any = await client.call_tool("search", options)
    found = answer.structured_content["result"]
    assert [(each["id"], each["rerank_score"]) for each in found] == [
        (hit["id"], pytest.approx(hit["rerank_score"], abs=1e-5)) for hit in api.hits(**options)
    ]
