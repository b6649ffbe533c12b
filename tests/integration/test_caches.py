"""Semantic caches over HTTP: what is answered, what is refused and why, and what expires."""

from __future__ import annotations

import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.conftest import Api, code_of
from tests.support.waiting import until

DARK = "How do I turn on dark mode?"
NAMES = (f"cache-{number}" for number in itertools.count())


@pytest.fixture
def cache(api: Api) -> str:
    """The path of an empty cache."""
    name = next(NAMES)
    api.collection(name)
    return f"/caches/{name}"


def store(api: Api, cache: str, text: str, answer: object, **more: object) -> Any:
    return api.ok(f"{cache}/store", {"text": text, "answer": answer, **more})


def look_up(api: Api, cache: str, text: str, **more: object) -> Any:
    return api.ok(f"{cache}/lookup", {"text": text, **more})


def answer_of(api: Api, cache: str, text: str, **more: object) -> object:
    hit = look_up(api, cache, text, **more)["hit"]
    return hit and hit["answer"]


def documents(api: Api, cache: str) -> list[Any]:
    return list(api.get(f"/collections/{cache.removeprefix('/caches/')}/documents")["documents"])


def test_a_text_that_says_the_same_has_the_answer(api: Api, cache: str) -> None:
    answer = {"text": "Under Settings.", "steps": [1, 2]}
    stored = store(api, cache, "cancel my subscription", answer, metadata={"lang": "en"})
    found = look_up(api, cache, "How do I cancel my subscription?")
    hit = found["hit"]
    assert (hit["id"], hit["text"], hit["answer"]) == (stored["id"], "cancel my subscription", answer)
    assert (hit["metadata"], hit["expires_at"], found["refused"]) == ({"lang": "en"}, None, [])
    assert found["verdict"]["verdict"] == "same"
    assert found["version"] == stored["version"]


@pytest.mark.parametrize(
    ("stored", "asked", "kind", "words"),
    [
        (DARK, "How do I turn off dark mode?", "replaced", ["on", "off"]),
        ("Show order 76577", "Show order 76578", "number", ["76577", "76578"]),
        ("The drug helped most patients.", "The drug did not help most patients.", "negation", ["not"]),
    ],
)
def test_an_opposite_is_refused_by_name(
    api: Api, cache: str, stored: str, asked: str, kind: str, words: list[str]
) -> None:
    store(api, cache, stored, "x")
    found = look_up(api, cache, asked)
    assert (found["hit"], found["verdict"]) == (None, None)
    [refused] = found["refused"]
    heaviest = refused["verdict"]["reasons"][0]
    assert (refused["text"], heaviest["kind"]) == (stored, kind)
    assert {each["text"] for side in "ab" for each in heaviest[side]} == {*words}


def test_of_several_texts_the_likeliest_answers(api: Api, cache: str) -> None:
    for text in ("How do I turn off dark mode?", "How can I turn on the dark mode?", "How do I dim the lamp?"):
        store(api, cache, text, text)
    found = look_up(api, cache, DARK)
    assert found["hit"]["text"] == "How can I turn on the dark mode?"
    assert [each["text"] for each in look_up(api, cache, "turn on light mode")["refused"]]


@pytest.mark.parametrize("tokens", ["none", "int8"])
def test_verdicts_equal_those_of_pairs(api: Api, tokens: str) -> None:
    name = next(NAMES)
    api.collection(name, tokens=tokens)
    texts = ["My parcel never came", "I was charged twice", "Do you ship to Canada?", "my parcel has not come"]
    api.store(name, *({"id": str(i), "text": text} for i, text in enumerate(texts)))
    for asked in ("my parcel never arrived", "Do you ship to Mexico?"):
        found = api.ok("/same", {"text": asked, "collection": name, "k": 4})["verdicts"]
        assert {each["document"]["text"] for each in found} == {*texts}
        pairs = [{"a": asked, "b": each["document"]["text"]} for each in found]
        expected = api.ok("/same", {"pairs": pairs})["verdicts"]
        log_odds = [each["log_odds"] for each in found]
        assert log_odds == sorted(log_odds, reverse=True)
        assert log_odds == pytest.approx([each["log_odds"] for each in expected], abs=0.1 if tokens == "int8" else 1e-4)
        assert [each["verdict"] for each in found] == [each["verdict"] for each in expected]


def test_an_answer_stays_in_its_scope(api: Api, cache: str) -> None:
    acme, zeta = {"tenant": "acme", "prompt": "3"}, {"tenant": "zeta", "prompt": "3"}
    store(api, cache, DARK, "of acme", scope=acme)
    store(api, cache, DARK, "of all")
    for scope in (zeta, {"tenant": "acme"}, {**acme, "more": ""}):
        assert look_up(api, cache, DARK, scope=scope)["refused"] == []
    store(api, cache, DARK, "of zeta", scope=zeta)
    assert [answer_of(api, cache, DARK, scope=scope) for scope in (acme, zeta, {})] == ["of acme", "of zeta", "of all"]


def test_the_same_text_replaces_its_answer(api: Api, cache: str) -> None:
    ids = {store(api, cache, DARK, answer)["id"] for answer in ("old", "new")}
    assert (len(ids), answer_of(api, cache, DARK)) == (1, "new")


def test_a_filter_restricts_the_answers(api: Api, cache: str) -> None:
    store(api, cache, DARK, "x", metadata={"lang": "en"})
    assert answer_of(api, cache, DARK, filter={"lang": "en"}) == "x"
    assert answer_of(api, cache, DARK, filter={"lang": "de"}) is None


def test_an_expired_answer_is_missed_and_later_deleted(api: Api, cache: str) -> None:
    stored = store(api, cache, DARK, "x", ttl_s=1)
    store(api, cache, "Do you ship to Canada?", "y", ttl_s=1000)
    if (found := look_up(api, cache, DARK)["hit"]) is not None:  # within the second
        assert found["expires_at"] == stored["expires_at"]
    until(lambda: answer_of(api, cache, DARK) is None)
    assert len(documents(api, cache)) == 2
    store(api, cache, "Do you ship to Mexico?", "z")
    assert stored["id"] not in {each["id"] for each in documents(api, cache)}
    assert answer_of(api, cache, "Do you ship to Canada?") == "y"


def test_no_index_reads_the_answer(api: Api, cache: str) -> None:
    store(api, cache, DARK, "Under Settings, choose zebra.")
    name = cache.removeprefix("/caches/")
    assert api.hits("zebra", collection=name, mode="lexical") == []
    assert api.ok(f"/collections/{name}/count", {"filter": {"cache": {"exists": True}}})["count"] == 0


def test_two_writers_of_one_text_leave_one_answer(api: Api, cache: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = {*pool.map(lambda number: store(api, cache, DARK, number)["id"], range(24))}
    assert [each["id"] for each in documents(api, cache)] == [*ids]
    assert answer_of(api, cache, DARK) in range(24)


def test_an_entry_whose_document_is_deleted_is_missed(api: Api, cache: str) -> None:
    name, doc_id = cache.removeprefix("/caches/"), store(api, cache, DARK, "x")["id"]
    assert api.http.delete(f"/collections/{name}/documents/{doc_id}").status_code == 200
    assert (answer_of(api, cache, DARK), look_up(api, cache, DARK)["refused"]) == (None, [])


def test_other_documents_of_a_collection_are_no_answers(api: Api, cache: str) -> None:
    name = cache.removeprefix("/caches/")
    store(api, cache, DARK, "x")
    [entry] = documents(api, cache)
    own = {key: entry["metadata"][key] for key in ("cache", "cache_scope")}
    broken: list[dict[str, Any]] = [
        {},
        {"cache": None},
        {"cache": "answer"},
        {"cache": {**own["cache"], "tokens": -1}},
        {"cache_until": "x"},
    ]
    for i, change in enumerate(broken):
        metadata = {**own, **change} if change else {}
        api.store(name, {"id": str(i), "text": f"{DARK} {i}", "metadata": metadata})
    for i in range(len(broken)):
        assert look_up(api, cache, f"{DARK} {i}")["hit"] is None
    assert answer_of(api, cache, DARK) == "x"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Wo ist mein Paket?", "language"),
        ("привет, как дела сегодня вечером?", "unread_text"),
        ("parcel " * 10_000, "long_text"),
    ],
)
def test_unfit_texts_are_answered_only_if_equal(api: Api, cache: str, text: str, why: str) -> None:
    store(api, cache, DARK, "x")
    [refused] = look_up(api, cache, text)["refused"]
    assert refused["verdict"]["unsure"] == why
    store(api, cache, text, "y")
    assert answer_of(api, cache, text) == "y"
    assert answer_of(api, cache, text + "!") is None


def outcomes(api: Api) -> dict[str, float]:
    lines = api.http.get("/metrics").text
    found = re.findall(r'^semblance_semantic_cache_lookups_total\{outcome="(\w+)"\} (\S+)$', lines, re.MULTILINE)
    [saved] = re.findall(r"^semblance_semantic_cache_saved_tokens_total (\S+)$", lines, re.MULTILINE)
    return {"saved": float(saved), **{outcome: float(count) for outcome, count in found}}


def test_metrics_count_hits_refusals_and_saved_tokens(api: Api, cache: str) -> None:
    before = outcomes(api)
    look_up(api, cache, DARK)
    store(api, cache, DARK, "x", tokens=812)
    store(api, cache, "cancel my subscription", "y")
    for text in (DARK, DARK, "cancel my subscription", "How do I turn off dark mode?"):
        look_up(api, cache, text)
    after = outcomes(api)
    changed = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert changed == {"saved": 1624, "hit": 3, "empty": 1, "replaced": 1}


@pytest.mark.parametrize(
    ("path", "body", "refusal", "pointer"),
    [
        ("store", {"text": " ", "answer": 1}, (422, "empty_text"), "/text"),
        ("store", {"text": "x", "answer": 1, "metadata": {"cache": 1}}, (422, "reserved_field"), "/metadata/cache"),
        ("store", {"text": "x", "answer": "y" * 66_000}, (422, "metadata_too_large"), "/answer"),
        ("store", {"text": "x", "answer": 1, "ttl_s": 0}, (422, "out_of_range"), "/ttl_s"),
        ("store", {"text": "x"}, (422, "missing_field"), "/answer"),
        ("store", {"text": "x", "answer": "\x00"}, (422, "ill_formed_text"), "/answer"),
        ("lookup", {"text": ""}, (422, "empty_text"), "/text"),
        ("lookup", {"text": "x", "scope": {"a": 1}}, (422, "invalid_value"), "/scope/a"),
        ("lookup", {"text": "x", "candidates": 33}, (422, "out_of_range"), "/candidates"),
        ("lookup", {"text": "x", "filter": {"a": {"b": 1}}}, (422, "bad_filter"), "/filter/a"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused_at_their_place(
    api: Api, cache: str, path: str, body: object, refusal: tuple[int, str], pointer: str
) -> None:
    answer = api.post(f"{cache}/{path}", body)
    assert code_of(answer) == refusal
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]
    assert documents(api, cache) == []


@pytest.mark.parametrize("path", ["store", "lookup"])
def test_unknown_caches_are_refused(api: Api, path: str) -> None:
    body = {"text": "x", "answer": 1} if path == "store" else {"text": "x"}
    assert code_of(api.post(f"/caches/nowhere/{path}", body)) == (404, "unknown_collection")


def test_collections_of_models_without_a_classifier_are_refused(api: Api) -> None:
    name = next(NAMES)
    api.collection(name, model="minilm")
    for path, body in ((f"/caches/{name}/lookup", {"text": "x"}), ("/same", {"text": "x", "collection": name})):
        answer = api.post(path, body)
        assert code_of(answer) == (422, "no_classifier")
        assert "the model minilm has no paraphrase classifier" in answer.text
