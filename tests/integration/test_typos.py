"""Queries with typos, and the beginnings of words, are read as words that the documents have."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

TEXTS = {
    "parcel": "A parcel that is lost in the mail is replaced free of charge.",
    "refund": "Your money is paid back to the card that you paid with.",
    "bags": "Baggage of up to twenty kilograms is carried without charge.",
    "de": "Die Kaffeemaschine verliert Wasser und wird nicht warm.",
    "horse": "Ponies are kept in a stable near the house.",
    "dutch": "The Dutch office is closed.",
}


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("typos", tokens="int8")
    documents = [{"id": key, "text": text, "metadata": {"key": key}} for key, text in TEXTS.items()]
    api.store("typos", *documents)
    return api


def search(api: Api, query: str, **options: object) -> dict[str, Any]:
    body = {"query": query, "collection": "typos", "mode": "hybrid", **options}
    [found] = api.ok("/search", body)["results"]
    return dict(found)


@pytest.mark.parametrize(
    ("query", "read_as", "first"),
    [
        ("where is my parcle?", "where is my parcel?", "parcel"),
        ("PARZEL lost", "parcel lost", "parcel"),
        ("how heavy may bagage be", "how heavy may baggage be", "bags"),
        ("Kaffemaschiene leckt", "kaffeemaschine leckt", "de"),
        ("Kafeemashine", "kaffeemaschine", "de"),
        ("i want my mony bak", "i want my money bak", "refund"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "auto", "lexical"])
def test_a_typo_is_read_as_a_word_of_the_documents(api: Api, mode: str, query: str, read_as: str, first: str) -> None:
    found = search(api, query, mode=mode, highlight=True)
    assert found["read_as"] == read_as
    assert found["hits"][0]["id"] == first
    clean = search(api, read_as, mode=mode, highlight=True)
    assert clean["read_as"] is None
    assert found["hits"] == clean["hits"]
    assert found["missing_terms"] == clean["missing_terms"]


def test_words_that_the_encoder_knows_are_no_typos(api: Api) -> None:
    found = search(api, "where does the horse live")
    assert found["read_as"] is None, "house is near"
    assert found["missing_terms"] == ["live", "horse"] or found["missing_terms"] == ["horse", "live"]


@pytest.mark.parametrize("query", ["parcl E-4711x", "bags", "parc", "parcellll", "パーセル", "parcel2 12345", ""])
def test_short_words_codes_and_more_edits_stay(api: Api, query: str) -> None:
    words = {"parcl E-4711x": "parcel E-4711x"}
    if query:
        assert search(api, query)["read_as"] == words.get(query)


@pytest.mark.parametrize("query", ["durch die Wand", "Durch"])
def test_function_words_of_any_language_stay(api: Api, query: str) -> None:
    assert search(api, query)["read_as"] is None


def test_typos_stay_by_vector_or_if_not_asked(api: Api) -> None:
    assert search(api, "parcle", mode="vector")["read_as"] is None
    off = search(api, "parcle", typos=False)
    assert (off["read_as"], off["missing_terms"]) == (None, ["parcle"])


def test_the_last_word_is_completed(api: Api) -> None:
    assert search(api, "lost par", autocomplete=True)["read_as"] == "lost parcel"
    assert search(api, "lost par")["read_as"] is None
    assert search(api, "par lost", autocomplete=True)["read_as"] is None
    assert search(api, "lost parcel", autocomplete=True)["read_as"] is None
    assert search(api, "lost xqz", autocomplete=True)["read_as"] is None


def test_words_come_from_matching_documents(api: Api) -> None:
    assert search(api, "parcle", filter={"key": "refund"})["read_as"] is None
    assert search(api, "lost par", autocomplete=True, filter={"key": "de"})["read_as"] is None
    assert search(api, "parcle", filter={"key": "parcel"})["read_as"] == "parcel"


def test_each_query_of_a_request_is_read(api: Api) -> None:
    body = {"queries": ["parcle", "parcel"], "collection": "typos", "mode": "hybrid"}
    first, second = api.ok("/search", body)["results"]
    assert (first["read_as"], second["read_as"]) == ("parcel", None)
    assert first["hits"] == second["hits"]
