"""Verdicts on pairs of texts and their reasons, over HTTP."""

from __future__ import annotations

import httpx2
import pytest
from semblance_client import Client
from semblance_client.vocabulary.same import Verdict, Verdicts


def verdicts(http: httpx2.Client, *pairs: tuple[str, str], **options: object) -> list[Verdict]:
    answer = http.post("/same", json={"pairs": [{"a": a, "b": b} for a, b in pairs], **options})
    assert answer.status_code == 200, answer.text
    return Verdicts.model_validate_json(answer.content).verdicts


DIFFERENT = [
    ("The drug helped most patients.", "The drug did not help most patients.", "negation", "", "not"),
    ("error 76577", "error 76578", "number", "76577", "76578"),
    ("How do I turn on dark mode?", "How do I turn off dark mode?", "replaced", "on", "off"),
    ("We are open every day.", "We are closed every day.", "replaced", "open", "closed"),
    ("We deliver daily except weekends.", "We deliver daily.", "only", "except weekends", ""),
    ("Anna called Otto", "Otto called Anna", "order", "Anna called Otto", "Otto called Anna"),
    ("How to increase my salary", "How to decrease my salary", "replaced", "increase", "decrease"),
    ("Do you ship to Canada?", "Do you ship to Mexico?", "replaced", "Canada", "Mexico"),
]
SAME = [
    ("How can I reset my password?", "What is the best way to reset my password?"),
    ("It isn't open", "It is not open"),
    ("Two men are sleeping", "2 men are sleeping"),
    ("cancel my subscription", "How do I cancel my subscription?"),
    ("Go to Rome", "Go to Rome!"),
]


@pytest.mark.parametrize(("a", "b", "kind", "left", "right"), DIFFERENT)
def test_what_differs_is_named(http: httpx2.Client, a: str, b: str, kind: str, left: str, right: str) -> None:
    [there], [back] = verdicts(http, (a, b)), verdicts(http, (b, a))
    assert (there.verdict, back.verdict) == ("different", "different")
    heaviest = there.reasons[0]
    assert (heaviest.kind, " ".join(each.text for each in heaviest.a)) == (kind, left)
    assert " ".join(each.text for each in heaviest.b) == right
    assert all(a[each.start : each.end] == each.text for each in heaviest.a)
    assert (back.reasons[0].kind, back.reasons[0].a, back.reasons[0].b) == (kind, heaviest.b, heaviest.a)


def test_other_words_for_the_same_are_the_same(http: httpx2.Client) -> None:
    assert [each.verdict for each in verdicts(http, *SAME)] == ["same"] * len(SAME)


def test_base_reasons_and_rest_sum_to_the_log_odds(http: httpx2.Client) -> None:
    for each in verdicts(http, *SAME, *[(a, b) for a, b, *_ in DIFFERENT]):
        assert each.log_odds is not None
        assert each.base + sum(reason.log_odds for reason in each.reasons) + each.rest == pytest.approx(each.log_odds)


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("Wo ist mein Paket?", "Wo ist es nicht?", "language"),
        ("привет, как дела", "что это такое", "unread_text"),
        ("?!", "hello", "no_words"),
        ("The parcel is lost. " * 200, "The parcel is lost.", "long_text"),
    ],
)
def test_texts_of_other_kinds_are_unsure(http: httpx2.Client, a: str, b: str, why: str) -> None:
    [found] = verdicts(http, (a, b))
    assert (found.verdict, found.unsure, found.log_odds, found.reasons) == ("unsure", why, None, [])
    assert [each.verdict for each in verdicts(http, (a, a), (b, b))] == ["same", "same"]


def test_requests_that_cannot_be_answered_are_refused(http: httpx2.Client) -> None:
    pair = {"a": "x", "b": "y"}
    for body, code in (
        ({"pairs": []}, "out_of_range"),
        ({"pairs": [{"a": " ", "b": "y"}]}, "empty_text"),
        ({"pairs": [pair], "model": "none"}, "unknown_model"),
        ({"pairs": [pair], "model": "minilm"}, "no_classifier"),
        ({}, "invalid_request"),
        ({"pairs": [pair], "text": "x"}, "invalid_request"),
        ({"text": "x", "model": "minilm-graded"}, "invalid_request"),
        ({"text": "x", "k": 33}, "out_of_range"),
        ({"text": "x", "collection": "nowhere"}, "unknown_collection"),
        ({"text": "x", "filter": {"a": {"b": 1}}}, "bad_filter"),
        ({"pairs": [{"a": "word " * 10_000, "b": "y"}]}, None),
    ):
        answer = http.post("/same", json=body)
        if code is None:
            assert answer.json()["verdicts"][0]["unsure"] == "long_text"
        else:
            assert answer.status_code in (404, 422)
            assert code in answer.text


def test_the_client_asks_in_parts(http: httpx2.Client) -> None:
    pairs = [(a, b) for a, b, *_ in DIFFERENT] * 2
    with Client(str(http.base_url)) as client:
        found = client.same(pairs).verdicts
    assert [each.verdict for each in found] == ["different"] * len(pairs)
    assert found[: len(DIFFERENT)] == found[len(DIFFERENT) :]
