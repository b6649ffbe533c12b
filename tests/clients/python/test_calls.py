"""Every call returns what the service answers to the request that it describes."""

from __future__ import annotations

import inspect
from typing import Any

import httpx2
import pytest
from semblance_client import AsyncClient, Client, Conflict, Document, NotFound, Spans

TEXTS = ["A cat sleeps.", "Ein Kätzchen döst 🙂 naïve.", "私の荷物が届かない", "אין לי חבילה"]


def test_similarity_scores_pairs_as_the_service_does(client: Client, http: httpx2.Client) -> None:
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[3])]
    answer = client.similarity(pairs, measure="rcmd_words", explain=True)
    body = {"pairs": [{"a": a, "b": b} for a, b in pairs], "measure": "rcmd_words", "explain": True}
    expected = http.post("/similarity", json=body).json()
    assert answer.model_dump() == expected
    assert answer.explanations is not None
    assert [each.b.text for each in answer.explanations] == [TEXTS[1], TEXTS[3]]


def test_a_matrix_has_a_row_for_each_left_text(client: Client) -> None:
    matrix = client.similarity_matrix(TEXTS[:2], TEXTS[:3], measure="cosine")
    pairs = [(a, b) for a in TEXTS[:2] for b in TEXTS[:3]]
    scores = client.similarity(pairs, measure="cosine").scores
    assert [len(row) for row in matrix.scores] == [3, 3]
    assert [score for row in matrix.scores for score in row] == pytest.approx(scores, abs=1e-5)


def test_a_search_sends_every_option(client: Client, http: httpx2.Client) -> None:
    options: dict[str, Any] = {
        "k": 3,
        "measure": "rcmd_words",
        "filter": {"category": "shipping"},
        "explain": True,
        "candidates": 20,
        "min_score": 0.1,
        "min_version": client.collection("default").version,
        "truncate": "START",
    }
    answer = client.search("my parcel never came", "default", **options)
    body = {"query": "my parcel never came", "collection": "default", **options}
    assert answer.model_dump() == http.post("/search", json=body).raise_for_status().json()
    assert len(answer.hits) == 3
    assert all(hit.metadata["category"] == "shipping" for hit in answer.hits)


def test_a_search_of_several_queries_has_results_for_each(client: Client) -> None:
    answer = client.search(["my parcel never came", "two bills"], k=2)
    assert [result.hits[0].id for result in answer.results] == [
        client.search(query, k=1).hits[0].id for query in ("my parcel never came", "two bills")
    ]
    with pytest.raises(ValueError, match="results of 2 queries"):
        _ = answer.hits


def test_explain_sends_every_option(client: Client, http: httpx2.Client) -> None:
    options: dict[str, Any] = {"measure": "rcmd", "granularity": "token", "max_links": 5, "truncate": "START"}
    of_texts = client.explain(TEXTS[0], TEXTS[1], model="minilm", **options)
    body = {"a": TEXTS[0], "b": TEXTS[1], "model": "minilm", "format": "json", **options}
    assert of_texts.model_dump() == http.post("/explain", json=body).raise_for_status().json()
    of_document = client.explain("my parcel", id="shipping-001", collection="default", **options)
    assert of_document.b.text == client.document("shipping-001").text


def test_explain_difference_sends_every_option(client: Client, http: httpx2.Client) -> None:
    options: dict[str, Any] = {"collection": "default", "measure": "rcmd", "mode": "hybrid", "truncate": "START"}
    answer = client.explain_difference("my parcel", "shipping-001", "shipping-002", **options)
    body = {"query": "my parcel", "a": "shipping-001", "b": "shipping-002", **options}
    assert answer.model_dump() == http.post("/explain/difference", json=body).raise_for_status().json()
    assert {part.kind for part in answer.parts} >= {"word", "special", "term"}
    assert [client.document(each.id).text for each in (answer.a, answer.b)] == [answer.a.text, answer.b.text]


def test_vectors_have_unit_length_and_the_order_of_texts(client: Client) -> None:
    answer = client.embed(TEXTS, "minilm-words", dimensions=64, input_type="document", truncate="END")
    assert [each.index for each in answer.data] == [0, 1, 2, 3]
    assert [sum(x * x for x in vector) for vector in answer.vectors] == pytest.approx([1] * 4, abs=1e-5)
    [single] = client.embed(TEXTS[1], "minilm-words", dimensions=64).vectors
    assert single == pytest.approx(answer.vectors[1], abs=1e-5)


def test_spans_and_the_rest_sum_to_the_score(client: Client) -> None:
    ranking = client.rerank("Kätzchen 🙂", [*TEXTS, ""], relevant_spans=Spans(threshold=0.0), explain=True)
    scores = [result.relevance_score for result in ranking.results]
    assert scores == sorted(scores, reverse=True)
    assert "/documents/4: it has no visible character" in ranking.meta.warnings[0]
    for result in ranking.results:
        assert result.document.text == [*TEXTS, ""][result.index]
        if result.relevant_spans:
            assert result.rest is not None
            total = sum(span.score for span in result.relevant_spans) + result.rest
            assert total == pytest.approx(result.raw_score, abs=1e-6)
            assert result.explanation is not None
            assert result.explanation.score == result.raw_score
    [best] = client.rerank("Kätzchen 🙂", TEXTS, measure="cosine", model="minilm", top_n=1).results
    assert best.index == 1
    [result] = client.rerank("cat", ["A cat sleeps; the cat eats."], relevant_spans=Spans(max_spans=1)).results
    assert result.relevant_spans is not None
    assert len(result.relevant_spans) == 1


def test_collections_are_created_listed_and_deleted(client: Client) -> None:
    created = client.create_collection("calls", model="minilm", measure="rcmd", index="faiss_flat", tokens="int8")
    assert (created.model, created.measure, created.index, created.tokens) == ("minilm", "rcmd", "faiss_flat", "int8")
    assert (
        client.create_collection("calls", model="minilm", measure="rcmd", index="faiss_flat", tokens="int8").count == 0
    )
    with pytest.raises(Conflict) as refused:
        client.create_collection("calls")
    assert refused.value.code == "collection_differs"
    assert "calls" in [each.name for each in client.collections()]
    client.delete_collection("calls")
    with pytest.raises(NotFound):
        client.collection("calls")


@pytest.mark.parametrize("name", ["1", "a/b c?d=e#f", "ключ/私 100%", "x//y", "&+;"])
def test_documents_with_any_id_are_stored_read_and_deleted(client: Client, name: str) -> None:
    client.create_collection("ids")
    done = client.add_documents([Document(id=name, text="A text.", metadata={"a": [1, {"b": None}]})], "ids")
    assert done.upserted == 1
    read = client.document(name, "ids")
    assert (read.id, read.text, read.metadata, read.version) == (name, "A text.", {"a": [1, {"b": None}]}, done.version)
    assert client.add_documents([read], "ids").upserted == 1, "what was read may be stored"
    with pytest.raises(Conflict):
        client.delete_document(name, "ids", if_version=done.version)
    client.delete_document(name, "ids", if_version=client.document(name, "ids").version)
    with pytest.raises(NotFound) as missing:
        client.delete_document(name, "ids")
    assert missing.value.code == "unknown_document"


def test_a_stale_version_refuses_the_document(client: Client) -> None:
    client.create_collection("versions")
    first = client.add_documents([{"id": "1", "text": "old"}], "versions")
    client.add_documents([{"id": "1", "text": "new"}], "versions")
    with pytest.raises(Conflict) as refused:
        client.add_documents([{"id": "1", "text": "late", "if_version": first.version}], "versions")
    assert refused.value.code == "document_changed"
    assert client.document("1", "versions").text == "new"


def test_pages_lead_through_all_documents(client: Client) -> None:
    ids: list[str] = []
    cursor: str | None = None
    while not ids or cursor is not None:
        page = client.documents(limit=77, cursor=cursor)
        ids += [document.id for document in page.documents]
        cursor = page.cursor
    assert len(set(ids)) == len(ids) == client.collection("default").count


def test_models_and_measures_are_those_of_the_service(client: Client, http: httpx2.Client) -> None:
    served = http.get("/models").json()
    assert [each.model_dump() for each in client.models()] == served["models"]
    assert [each.model_dump(mode="json") for each in client.measures()] == served["measures"]
    assert client.model_names() == [each["id"] for each in http.get("/v1/models").json()["data"]]


def test_fields_of_a_newer_service_are_kept(client: Client) -> None:
    answer = client.similarity([("a", "b")])
    newer = type(answer).model_validate({**answer.model_dump(), "novelty": {"x": 1}})
    assert newer.model_dump()["novelty"] == {"x": 1}


def test_both_clients_have_the_same_documented_methods() -> None:
    def methods(kind: type) -> dict[str, tuple[str, str | None]]:
        functions = {name: each for name, each in vars(kind).items() if name[0] != "_" and inspect.isfunction(each)}
        return {name: (str(inspect.signature(each)), inspect.getdoc(each)) for name, each in functions.items()}

    assert methods(Client) == methods(AsyncClient)
    assert all(documentation for _, documentation in methods(Client).values())
    assert str(inspect.signature(Client().search)).startswith("(query: ")
    assert methods(Client)["delete_document"][0].endswith("-> semblance_client.answers.Deleted")
