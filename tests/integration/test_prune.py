"""The sentences of documents that carry the score of a query, over HTTP."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import httpx2
import pytest
from semblance_client import Client
from semblance_client.vocabulary.prune import Pruned

QUERY = "my parcel never came"
DOCUMENTS = [
    "𝄞 We are open all week.  Track a shipment if the parcel did not arrive. Music is played on Fridays.",
    "Return shoes within 30 days.\n\nA lost parcel is sent again.",
    "Track a shipment if the parcel did not arrive.",
]


def pruned(http: httpx2.Client, documents: list[str], query: str = QUERY, **options: object) -> Pruned:
    answer = http.post("/prune", json={"query": query, "documents": documents, **options})
    assert answer.status_code == 200, answer.text
    return Pruned.model_validate_json(answer.content)


def kept_texts(found: Pruned) -> list[list[str]]:
    return [[each.text for each in document.kept] for document in found.documents]


def test_each_sentence_is_in_the_ledger_once(http: httpx2.Client) -> None:
    for keep in ({"share": 0.5}, {"share": 1.0}, {"tokens": 12}, {"tokens": 1}):
        found = pruned(http, DOCUMENTS, keep=keep)
        for text, document in zip(DOCUMENTS, found.documents, strict=True):
            assert all(text[each.start : each.end] == each.text for each in document.kept)
            spans = sorted((each.start, each.end) for each in [*document.kept, *document.dropped])
            assert all(end <= start for (_, end), (start, _) in pairwise(spans))
            assert " ".join(text[start:end] for start, end in spans).split() == text.split()
        sentences = [each for document in found.documents for each in [*document.kept, *document.dropped]]
        assert sum(each.share for each in sentences) + found.rest == pytest.approx(1)
        assert found.rest == pytest.approx(0, abs=1e-6)
        assert found.share == pytest.approx(sum(each.share for document in found.documents for each in document.kept))
        assert found.kept_tokens == sum(each.tokens for document in found.documents for each in document.kept)
        assert found.tokens == sum(document.tokens for document in found.documents)


def test_what_answers_is_kept_and_copies_are_not(http: httpx2.Client) -> None:
    once, twice = pruned(http, DOCUMENTS), pruned(http, DOCUMENTS + DOCUMENTS)
    kept = {text for texts in kept_texts(once) for text in texts}
    assert "Track a shipment if the parcel did not arrive." in kept
    assert not {"Return shoes within 30 days.", "Music is played on Fridays."} & kept
    assert once.share >= 0.9
    assert (once.model, once.measure) == ("minilm-graded", "rcmd1_content")
    assert twice.documents[:3] == once.documents
    assert [each.share for document in twice.documents[3:] for each in document.dropped] == [0] * 6


def test_of_one_text_the_score_is_that_of_the_measure(http: httpx2.Client) -> None:
    for text in DOCUMENTS:
        pairs = {"pairs": [{"a": QUERY, "b": text}], "measure": "rcmd1_content"}
        [score] = http.post("/similarity", json=pairs).json()["scores"]
        assert pruned(http, [text]).score == pytest.approx(score, abs=1e-5)


def test_a_budget_of_tokens_holds_for_all_documents_together(http: httpx2.Client) -> None:
    scores = []
    for tokens in (1, 8, 11, 20, 1000):
        found = pruned(http, DOCUMENTS, keep={"tokens": tokens})
        assert found.kept_tokens <= tokens
        scores.append(found.share)
    assert scores == sorted(scores)
    assert scores[0] == 0
    assert scores[-1] == pytest.approx(1)


def test_long_documents_are_read_to_their_end(http: httpx2.Client) -> None:
    long = "We are open all week. " * 300 + "A lost parcel is sent again. " + "Music is played on Fridays. " * 300
    answer = http.post("/prune", json={"query": "a lost parcel", "documents": [long]})
    [document] = Pruned.model_validate_json(answer.content).documents
    assert [each.text for each in document.kept] == ["A lost parcel is sent again."]
    assert len(document.dropped) == 600
    assert int(answer.headers["x-semblance-passages"]) > 2


def test_one_word_and_ten_thousand_are_pruned(http: httpx2.Client) -> None:
    assert kept_texts(pruned(http, ["parcel"], "parcel")) == [["parcel"]]
    found = pruned(http, ["parcel " * 10_000], "parcel")
    assert found.tokens == 10_000
    assert found.share >= 0.9
    assert found.kept_tokens < 5000
    assert not found.truncated
    assert pruned(http, ["A parcel.", "A dog."], "parcel " * 10_000).truncated


@pytest.mark.parametrize(
    ("changes", "status", "pointer", "code"),
    [
        ({"query": ""}, 422, "/query", "empty_text"),
        ({"query": " \u200b"}, 422, "/query", "empty_text"),
        ({"query": None}, 422, "/query", "invalid_value"),
        ({"documents": []}, 422, "/documents", "out_of_range"),
        ({"documents": ["A text.", " "]}, 422, "/documents/1", "empty_text"),
        ({"documents": ["\0"]}, 422, "/documents/0", "ill_formed_text"),
        ({"documents": ["a" * 100_001]}, 422, "/documents/0", "text_too_long"),
        ({"documents": ["a"] * 4097}, 422, "/documents", "out_of_range"),
        ({"keep": {}}, 422, "/keep", "invalid_request"),
        ({"keep": {"share": 0.5, "tokens": 3}}, 422, "/keep", "invalid_request"),
        ({"keep": {"share": 0}}, 422, "/keep/share", "out_of_range"),
        ({"keep": {"share": 1.1}}, 422, "/keep/share", "out_of_range"),
        ({"keep": {"tokens": 0}}, 422, "/keep/tokens", "out_of_range"),
        ({"keep": {"chars": 3}}, 422, "/keep/chars", "unknown_field"),
        ({"keep": None}, 422, "/keep", "invalid_value"),
        ({"model": "none"}, 404, "/model", "unknown_model"),
    ],
)
def test_bad_requests_are_rejected(
    http: httpx2.Client, changes: dict[str, Any], status: int, pointer: str, code: str
) -> None:
    answer = http.post("/prune", json={"query": QUERY, "documents": DOCUMENTS} | changes)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), answer.text
    if problem["errors"]:
        assert [each["pointer"] for each in problem["errors"]] == [pointer]


def test_too_many_tokens_are_rejected(http: httpx2.Client) -> None:
    texts = [f"{i} " + "a " * 9_000 for i in range(40)]
    answer = http.post("/prune", json={"query": QUERY, "documents": texts})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_many_tokens")


def test_the_client_prunes(url: str) -> None:
    with Client(url) as client:
        found = client.prune(QUERY, DOCUMENTS, tokens=12)
        assert 0 < found.kept_tokens <= 12
        assert client.prune(QUERY, iter(DOCUMENTS), share=0.9, model="minilm").model == "minilm"
