"""Every call returns what the service answers to the request that it describes."""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias

import httpx2
import pytest
from semblance_client import Alias, AsyncClient, Client, Conflict, Document, NotFound, Spans

Body: TypeAlias = dict[str, Any]

TEXTS = ["A cat sleeps.", "Ein Kätzchen döst 🙂 naïve.", "私の荷物が届かない", "אין לי חבילה"]
PAIRS = [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[3])]
PARCEL = "my parcel never came"
IDS = ["shipping-001", "shipping-002"]
SIDES: Body = {"a": IDS[0], "b": IDS[1]}
SIMILARITY: Body = {"measure": "rcmd_words", "explain": True}
STORED: Body = {"id": "shipping-001", "collection": "default"}
SEARCH: Body = {"k": 3, "measure": "rcmd_words", "filter": {"category": "shipping"}, "explain": True}
SEARCH |= {"candidates": 20, "min_score": 0.1, "truncate": "START", "fields": ["category"], "mode": "auto"}
SEARCH |= {"boosts": [{"field": "views", "full_at": 100, "weight": 0.1}], "keep": {"tokens": 40}}
EXPLAIN: Body = {"measure": "rcmd", "granularity": "token", "max_links": 5, "truncate": "START"}
DIFFERENCE: Body = {"collection": "default", "measure": "rcmd", "mode": "hybrid", "truncate": "START"}
EMBED: Body = {"dimensions": 64, "input_type": "document", "truncate": "END"}
RERANK: Body = {"measure": "cosine", "model": "minilm", "top_n": 2, "explain": True}


@pytest.mark.parametrize(
    ("name", "arguments", "options", "path", "given"),
    [
        ("similarity", [PAIRS], SIMILARITY, "similarity", {"pairs": [{"a": a, "b": b} for a, b in PAIRS]}),
        ("similarity_matrix", [TEXTS, IDS], {"measure": "rcmd"}, "similarity", {"left": TEXTS, "right": IDS}),
        ("search", [PARCEL, "default"], SEARCH, "search", {"query": PARCEL, "collection": "default"}),
        ("explain", IDS, EXPLAIN, "explain", {**SIDES, "format": "json"}),
        ("explain", [PARCEL], STORED, "explain", {"a": PARCEL, "format": "json"}),
        (
            "explain_difference",
            [PARCEL, *IDS],
            DIFFERENCE,
            "explain/difference",
            {"query": PARCEL, "a": IDS[0], "b": IDS[1]},
        ),
        ("embed", [TEXTS, "minilm"], EMBED, "v1/embeddings", {"input": TEXTS, "model": "minilm"}),
        ("same", [[(PARCEL, "x")]], {"model": "minilm-graded"}, "same", {"pairs": [{"a": PARCEL, "b": "x"}]}),
        ("same_documents", [PARCEL], {"k": 2, "filter": {"category": "shipping"}}, "same", {"text": PARCEL}),
        ("prune", [PARCEL, TEXTS], {"model": "minilm"}, "prune", {"query": PARCEL, "documents": TEXTS}),
        ("rerank", [PARCEL, [*TEXTS, ""]], RERANK, "v2/rerank", {"query": PARCEL, "documents": [*TEXTS, ""]}),
    ],
)
def test_a_call_sends_every_option_and_returns_the_answer(  # noqa: PLR0913, PLR0917 - columns of the table
    client: Client, http: httpx2.Client, name: str, arguments: list[Any], options: Body, path: str, given: Body
) -> None:
    answer = getattr(client, name)(*arguments, **options)
    expected = type(answer).model_validate(http.post(path, json=given | options).raise_for_status().json())
    assert answer.model_dump(exclude={"id"}) == expected.model_dump(exclude={"id"})


def test_orders_and_counts_are_sent_in_their_own_form(client: Client) -> None:
    ranges = [{"lt": "m"}, {"gte": "m"}]
    sorted_hits = client.search(PARCEL, sort="category", descending=True, facets={"category": ranges})
    categories = [str(hit.metadata["category"]) for hit in sorted_hits.hits]
    assert categories == sorted(categories, reverse=True)
    facets = sorted_hits.results[0].facets
    assert facets is not None
    assert sum(facets.facets[0].ranges) == facets.count == 200
    assert client.count(facets={"category": ranges}).facets == facets.facets
    assert client.suggest("my par", k=1, filter={"category": "shipping"}) == ["my parcel"]


def test_a_search_waits_for_the_version_that_it_names(client: Client) -> None:
    epoch, number, commit = client.collection("default").version.split(":")
    with pytest.raises(Conflict):
        client.search(PARCEL, min_version=f"{epoch}:{int(number) + 1}:{commit}")


def test_a_search_of_several_queries_has_results_for_each(client: Client) -> None:
    answer = client.search(["my parcel never came", "two bills"], k=2)
    assert [result.hits[0].id for result in answer.results] == [
        client.search(query, k=1).hits[0].id for query in ("my parcel never came", "two bills")
    ]
    with pytest.raises(ValueError, match="results of 2 queries"):
        _ = answer.hits


def test_vectors_have_the_order_of_texts(client: Client) -> None:
    vectors = client.embed(TEXTS, "minilm-graded").vectors
    [single] = client.embed(TEXTS[1], "minilm-graded").vectors
    assert single == pytest.approx(vectors[1], abs=1e-5)


@pytest.mark.parametrize("keep", [{"share": 0.5}, {"tokens": 9}])
def test_a_share_or_tokens_say_what_to_keep(client: Client, http: httpx2.Client, keep: dict[str, Any]) -> None:
    body = {"query": PARCEL, "documents": TEXTS, "keep": keep}
    expected = http.post("prune", json=body).raise_for_status().json()
    assert client.prune(PARCEL, iter(TEXTS), **keep).model_dump() == expected


def test_spans_are_asked_for_by_threshold_and_number(client: Client) -> None:
    options: Body = {"query": "cat", "documents": ["A cat sleeps; the cat eats."]}
    for spans, most in ((Spans(threshold=0.0), 9), (Spans(max_spans=1), 1)):
        [result] = client.rerank(**options, relevant_spans=spans).results
        assert result.relevant_spans is not None
        assert result.rest is not None
        assert 1 <= len(result.relevant_spans) <= most
        total = sum(span.score for span in result.relevant_spans) + result.rest
        assert total == pytest.approx(result.raw_score, abs=1e-6)


def test_collections_are_created_listed_and_deleted(client: Client) -> None:
    options: Body = {"model": "minilm", "measure": "rcmd", "index": "faiss_flat", "tokens": "int8"}
    assert client.create_collection("calls", **options).model_dump(include=set(options)) == options
    assert client.create_collection("calls", **options).count == 0
    with pytest.raises(Conflict) as refused:
        client.create_collection("calls")
    assert refused.value.code == "collection_differs"
    assert "calls" in [each.name for each in client.collections()]
    client.delete_collection("calls")
    with pytest.raises(NotFound):
        client.collection("calls")


def test_aliases_are_switched_listed_and_deleted(client: Client) -> None:
    client.create_collection("aliased")
    for collection in ("default", "aliased"):
        assert client.set_alias("an-alias", collection) == Alias(name="an-alias", collection=collection)
        assert client.collection("an-alias").name == collection
    assert Alias(name="an-alias", collection="aliased") in client.aliases()
    with pytest.raises(Conflict) as refused:
        client.delete_collection("an-alias")
    assert refused.value.code == "alias_conflict"
    client.delete_alias("an-alias")
    with pytest.raises(NotFound):
        client.delete_alias("an-alias")
    client.delete_collection("aliased")


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
    with pytest.raises(Conflict):
        client.add_documents([{"id": name, "text": "late", "if_version": done.version}], "ids")
    client.delete_document(name, "ids", if_version=client.document(name, "ids").version)
    with pytest.raises(NotFound) as missing:
        client.delete_document(name, "ids")
    assert missing.value.code == "unknown_document"


def test_pages_lead_through_all_documents(client: Client) -> None:
    ids: list[str] = []
    cursor: str | None = None
    while not ids or cursor is not None:
        page = client.documents(limit=77, cursor=cursor)
        ids += [document.id for document in page.documents]
        cursor = page.cursor
    assert len(set(ids)) == len(ids) == client.collection("default").count


async def test_all_documents_are_iterated_over_page_by_page(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr("semblance_client.calls.storage.MAX_PAGE", 9)
    filter_ = {"category": {"in": ["shipping", "orders"]}}
    with Client(url) as client:
        expected = client.documents(filter=filter_, sort="category", descending=True, limit=1000).documents
        assert len(expected) > 18
        found = client.all_documents(filter=filter_, sort="category", descending=True)
        assert next(found) == expected[0]
        assert [*found] == expected[1:]
        assert [*client.all_documents(filter={"category": "absent"})] == []
        with pytest.raises(NotFound):
            next(client.all_documents("absent"))
    async with AsyncClient(url) as waiting:
        assert [
            each async for each in waiting.all_documents(filter=filter_, sort="category", descending=True)
        ] == expected


def test_models_and_measures_are_those_of_the_service(client: Client, http: httpx2.Client) -> None:
    served = http.get("/models").json()
    assert [each.model_dump(mode="json") for each in client.models()] == served["models"]
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
    assert methods(Client)["delete_document"][0].endswith("-> semblance_client.vocabulary.documents.Deleted")


async def test_a_transport_answers_in_place_of_the_network() -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json={"aliases": []}))
    with Client(transport=transport) as client:
        assert client.aliases() == []
    async with AsyncClient(transport=transport) as waiting:
        assert await waiting.aliases() == []


@pytest.mark.parametrize("call", ["similarity", "same"])
def test_two_texts_or_columns_are_compared(client: Client, call: str) -> None:
    left, right = ["A cat sleeps.", "It rains."], ["The kitten naps.", "It is raining."]
    compare = getattr(client, call)
    field = "scores" if call == "similarity" else "verdicts"
    together = getattr(compare(zip(left, right, strict=True)), field)
    assert together == [getattr(compare(a, b), field)[0] for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize("given", [(["a text", "another"],), (["ab"],), ("ab",), ([("a", "b", "c")],), (["a"], ["b"])])
@pytest.mark.parametrize("call", ["similarity", "same"])
def test_pairs_in_another_form_are_told_the_form(client: Client, call: str, given: Any) -> None:
    with pytest.raises(TypeError, match=r"two texts, or pairs, which are a list such as .*zip\(left, right\)"):
        getattr(client, call)(*given)
