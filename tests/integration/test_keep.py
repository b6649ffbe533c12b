"""The sentences that a search keeps of its hits: as /prune keeps them of their texts, over HTTP."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from semblance_client import Client
from semblance_client.vocabulary.prune import Pruned
from semblance_client.vocabulary.search import DroppedHitSentence, Hit, Hits, KeptHitSentence, SearchResults

from tests.integration.conftest import Api

QUERY = "my parcel never came"
KEEPS: list[dict[str, Any]] = [{"share": 0.5}, {"share": 0.95}, {"share": 1.0}, {"tokens": 30}]
TEXTS = {
    "shop": "𝄞 We are open all week.  Track a shipment if the parcel did not arrive. Music is played on Fridays.",
    "returns": "Return shoes within 30 days.\n\nA lost parcel is sent again.",
    "copy": "Track a shipment if the parcel did not arrive.",
    "lamp": "The lamp is broken. We send you a new one.",
}
LONG = "The museum shows old ships. " * 40 + "A lost parcel is sent again. " + "It rains in the harbor. " * 60
LONG += "Maps of the sea hang there, and " * 30 + "a parcel never came."  # a sentence that is cut between passages
TITLED: dict[str, Any] = {
    "id": "titled",
    "text": "We send you another one. Write to us.",
    "metadata": {"title": "Lost parcels? They never came!"},
}


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    for tokens in ("int8", "none"):
        api.collection(f"kept-{tokens}", tokens=tokens, text_fields=["title"])
        api.store(f"kept-{tokens}", *({"id": doc_id, "text": text} for doc_id, text in TEXTS.items()))
        api.collection(f"long-{tokens}", tokens=tokens)
        api.store(f"long-{tokens}", {"id": "long", "text": LONG}, {"id": "lamp", "text": TEXTS["lamp"]})
    return api


def searched(api: Api, query: str | None = QUERY, **options: object) -> Hits:
    answer = api.ok("/search", ({} if query is None else {"query": query}) | options)
    [result] = SearchResults.model_validate(answer).results
    return result


def pruned(api: Api, texts: list[str], keep: object, query: str = QUERY) -> Pruned:
    return Pruned.model_validate(api.ok("/prune", {"query": query, "documents": texts, "keep": keep}))


def require_same(found: Any, expected: Pruned, shares: float) -> None:
    """Each hit, whose text is a document of /prune, has the same sentences; shares differ by rounding alone."""
    assert found.kept is not None
    assert dict(found.kept) == pytest.approx({name: getattr(expected, name) for name in dict(found.kept)}, abs=shares)
    for hit, document in zip(found.hits, expected.documents, strict=True):
        assert hit.sentences is not None
        assert hit.sentences.tokens == document.tokens
        assert [each.text for each in hit.sentences.kept] == [each.text for each in document.kept]
        for own, others in ((hit.sentences.kept, document.kept), (hit.sentences.dropped, document.dropped)):
            for one, other in zip(own, others, strict=True):
                assert (one.start - hit.start, one.end - hit.start, one.tokens) == (
                    other.start,
                    other.end,
                    other.tokens,
                )
                assert one.share == pytest.approx(other.share, abs=shares)


def require_ledger(found: Hits, whole: dict[str, str]) -> None:
    """All sentences are in the document, once and in order, and with `rest` they sum to 1."""
    assert found.kept is not None
    every: list[DroppedHitSentence | KeptHitSentence] = []
    for hit in found.hits:
        own = sentences_of(hit)
        every += own
        places = sorted((each.field or "", each.start, each.end) for each in own)
        assert all(last[0] != first[0] or last[2] <= first[1] for last, first in pairwise(places))
        assert hit.sentences is not None
        assert hit.sentences.tokens == sum(each.tokens for each in own)
        for each in hit.sentences.kept:
            assert each.text == whole[each.field or hit.id][each.start : each.end]
    kept = [each for each in every if isinstance(each, KeptHitSentence)]
    assert sum(each.share for each in every) + found.kept.rest == pytest.approx(1)
    assert sum(each.share for each in kept) == pytest.approx(found.kept.share)
    assert sum(each.tokens for each in kept) == found.kept.kept_tokens
    assert sum(each.tokens for each in every) == found.kept.tokens


def sentences_of(hit: Hit) -> list[DroppedHitSentence | KeptHitSentence]:
    assert hit.sentences is not None
    return [*hit.sentences.kept, *hit.sentences.dropped]


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"measure": "rcmd", "explain": True, "fields": []},
        {"mode": "lexical", "highlight": True},
        {"group_by": "category", "group_size": 2, "k": 3},
        {"offset": 3, "k": 4, "diversity": 0.5},
        {"sort": {"field": "category"}, "mode": "vector"},
        {"min_score": 0.5, "mode": "vector"},
    ],
)
def test_hits_keep_what_prune_keeps_of_their_texts(api: Api, keep: dict[str, Any], options: dict[str, Any]) -> None:
    found = searched(api, **options, keep=keep)
    plain = searched(api, **options)
    assert plain.kept is None
    assert [hit.model_copy(update={"sentences": None}) for hit in found.hits] == plain.hits
    require_same(found, pruned(api, [hit.text for hit in found.hits], keep), 1e-5)
    require_ledger(found, {hit.id: hit.text for hit in found.hits})


def test_stored_codes_keep_almost_the_same(api: Api) -> None:
    for keep in KEEPS:
        exact = searched(api, collection="kept-none", mode="vector", keep=keep)
        found = searched(api, collection="kept-int8", mode="vector", keep=keep)
        require_ledger(found, TEXTS)
        require_same(exact, pruned(api, [hit.text for hit in exact.hits], keep), 1e-5)
        assert found.kept is not None
        assert exact.kept is not None
        assert found.kept.score == pytest.approx(exact.kept.score, abs=0.01)
        assert found.kept.tokens == exact.kept.tokens


def test_of_one_hit_the_score_is_that_of_the_measure(api: Api) -> None:
    """It obeys the glossary of the collection, too; numbers of tokens are those of whole sentences."""
    groups = [
        {"kind": "equal", "terms": ["broken", "did not arrive"]},
        {"kind": "opposite", "terms": ["parcel"], "to": ["lamp"]},
        {"kind": "ignored", "terms": ["music", "never"]},
    ]
    for tokens in ("int8", "none"):
        name, counts, scores = f"kept-{tokens}", [], []
        for given in ([], groups):
            api.http.put(f"/collections/{name}/glossary", json={"groups": given}).raise_for_status()
            found = [
                searched(
                    api, "never a broken parcel", collection=name, measure="rcmd1_content", k=1, offset=offset, **kept
                )
                for offset in range(4)
                for kept in [{"keep": {"share": 1}, "typos": False}]
            ]
            for each in found:
                assert each.kept is not None
                assert each.kept.score == pytest.approx(each.hits[0].score, abs=1e-5)
            counts.append({each.hits[0].id: each.kept and each.kept.tokens for each in found})
            scores.append({each.hits[0].id: each.kept and each.kept.score for each in found})
        api.http.put(f"/collections/{name}/glossary", json={"groups": []}).raise_for_status()
        assert counts[0] == counts[1]
        assert all(scores[0][each] != scores[1][each] for each in ("shop", "lamp", "copy"))


@pytest.mark.parametrize("tokens", ["int8", "none"])
def test_passages_that_follow_each_other_are_one_text(api: Api, tokens: str) -> None:
    options: dict[str, Any] = {"collection": f"long-{tokens}", "mode": "vector"}
    for keep in KEEPS:
        found = searched(api, **options, passages=20, keep=keep)
        require_ledger(found, {"long": LONG, "lamp": TEXTS["lamp"]})
        [long] = [hit for hit in found.hits if hit.id == "long"]
        assert len(long.passages) >= 5
        if tokens == "none":  # /prune cuts long documents as they are stored
            expected = pruned(api, [LONG if hit.id == "long" else hit.text for hit in found.hits], keep)
            require_same(Hits(**(dict(found) | {"hits": [_whole(hit) for hit in found.hits]})), expected, 1e-5)
    few = searched(api, **options, passages=3, keep={"share": 1})
    require_ledger(few, {"long": LONG, "lamp": TEXTS["lamp"]})
    [long] = [hit for hit in few.hits if hit.id == "long"]
    inside = [(each.start, each.end) for each in long.passages]
    for each in sentences_of(long):
        assert any(start <= each.start < end for start, end in inside)


def _whole(hit: Hit) -> Hit:
    return hit.model_copy(update={"start": 0})


def test_sentences_of_text_fields_lie_in_them(api: Api) -> None:
    for tokens in ("int8", "none"):
        api.store(f"kept-{tokens}", TITLED)
        whole = TEXTS | {"titled": TITLED["text"], "title": TITLED["metadata"]["title"]}
        found = searched(api, collection=f"kept-{tokens}", mode="vector", passages=2, keep={"share": 1})
        api.http.delete(f"/collections/kept-{tokens}/documents/titled").raise_for_status()
        require_ledger(found, whole)
        [hit] = [hit for hit in found.hits if hit.id == "titled"]
        every = sentences_of(hit)
        texts = [whole[each.field or hit.id][each.start : each.end] for each in every]
        assert set(texts) == {"We send you another one.", "Write to us.", "Lost parcels?", "They never came!"}
        assert {each.field for each in every} == {None, "title"}


def test_hits_that_say_the_same_keep_it_once(api: Api) -> None:
    found = searched(api, collection="kept-none", mode="vector", keep={"share": 0.95})
    kept = [each.text for hit in found.hits for each in (hit.sentences.kept if hit.sentences else [])]
    assert kept.count("Track a shipment if the parcel did not arrive.") == 1
    assert all(hit.sentences for hit in found.hits)


def test_each_query_has_sentences_of_its_own(api: Api) -> None:
    queries = [QUERY, "a broken lamp"]
    body = {"queries": queries, "collection": "kept-int8", "keep": {"share": 0.9}}
    results = SearchResults.model_validate(api.ok("/search", body)).results
    for query, own in zip(queries, results, strict=True):
        assert own == searched(api, query, collection="kept-int8", keep={"share": 0.9})


def test_a_document_is_a_query_by_its_first_passage(api: Api) -> None:
    options: dict[str, Any] = {"collection": "long-none", "keep": {"share": 0.9}, "measure": "rcmd1_content"}
    first, whole = (searched(api, None, like="long", truncate=each, **options) for each in ("END", "PASSAGES"))
    assert first.kept is not None
    assert first.kept == whole.kept
    assert first.kept.score == pytest.approx(first.hits[0].score, abs=1e-3), "but for cosines below 0"
    assert [hit.id for hit in first.hits] == ["lamp"]


def test_no_hits_keep_nothing(api: Api) -> None:
    found = searched(api, mode="vector", min_score=1, keep={"tokens": 10})
    assert found.kept is not None
    assert (found.hits, found.kept.tokens, found.kept.score, found.kept.rest) == ([], 0, 0, 1)


@pytest.mark.parametrize(
    ("changes", "pointer", "code"),
    [
        ({"keep": {}}, "/keep", "invalid_request"),
        ({"keep": {"share": 0.5, "tokens": 3}}, "/keep", "invalid_request"),
        ({"keep": {"share": 0}}, "/keep/share", "out_of_range"),
        ({"keep": {"tokens": 0}}, "/keep/tokens", "out_of_range"),
        ({"keep": {"chars": 3}}, "/keep/chars", "unknown_field"),
        ({"keep": True}, "/keep", "invalid_value"),
        ({"k": 103, "passages": 10}, "/queries", "out_of_range"),
    ],
)
def test_bad_requests_are_rejected(api: Api, changes: dict[str, Any], pointer: str, code: str) -> None:
    answer = api.post("/search", {"query": QUERY, "keep": {"share": 0.9}} | changes)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["errors"][0]["pointer"]) == (422, code, pointer), answer.text


def test_the_client_keeps_sentences(url: str, api: Api) -> None:
    with Client(url) as client:
        found = client.search(QUERY, "kept-none", keep={"tokens": 12}).results[0]
        assert found.kept is not None
        assert 0 < found.kept.kept_tokens <= 12
        assert found == searched(api, collection="kept-none", keep={"tokens": 12})


@pytest.mark.parametrize("keep", KEEPS)
def test_a_rerank_keeps_what_prune_keeps_of_its_results(url: str, api: Api, keep: dict[str, Any]) -> None:
    documents = [*TEXTS.values(), "", LONG]
    with Client(url) as client:
        found = client.rerank(QUERY, documents, keep=keep, measure="rcmd")
        plain = client.rerank(QUERY, documents, measure="rcmd")
        best = client.rerank(QUERY, documents, keep=keep, top_n=1)
    ranked = [each for each in found.results if each.sentences is not None]
    assert [each.index for each in found.results][-1] == documents.index("")
    assert len(ranked) == len(documents) - 1, "but that without text"
    assert [(each.index, each.raw_score) for each in found.results] == [
        (each.index, each.raw_score) for each in plain.results
    ]
    assert (plain.kept, plain.results[0].sentences) == (None, None)
    expected = pruned(api, [documents[each.index] for each in ranked], keep)
    hits = [SimpleNamespace(sentences=each.sentences, start=0) for each in ranked]
    require_same(SimpleNamespace(kept=found.kept, hits=hits), expected, 1e-5)
    assert best.kept is not None
    assert best.kept.score <= expected.score + 1e-5
