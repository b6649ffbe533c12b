"""Whether a search says that nothing answers a query, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

ANSWERED = [
    "my parcel never came",
    "how do I get my money back",
    "I forgot my password",
    "can I pay by invoice",
    "the lamp arrived broken",
    "change my delivery address",
    "two bills for one order",
    "wo ist mein Paket",
]
ELSEWHERE = [
    "who was king of France in 1700",
    "where do penguins live",
    "how do I prune an apple tree",
    "what is the boiling point of mercury",
    "who won the chess tournament in Oslo",
    "recipe for onion soup",
    "how did the Roman Empire fall",
    "what does a mitochondrion do",
]


def no_good_match(api: Api, query: str, **options: object) -> Any:
    [found] = api.ok("/search", {"query": query, "k": 3, **options})["results"]
    return found["no_good_match"]


def test_questions_about_other_things_have_no_good_match(api: Api) -> None:
    refused = [query for query in ELSEWHERE if no_good_match(api, query)]
    assert len(refused) >= 7, refused
    assert [query for query in ANSWERED[:-1] if no_good_match(api, query)] == []
    together = api.ok("/search", {"queries": [*ELSEWHERE, *ANSWERED[:-1]], "k": 1})["results"]
    assert [each["no_good_match"] for each in together] == [query in refused for query in (*ELSEWHERE, *ANSWERED[:-1])]


@pytest.mark.parametrize("options", [{"measure": "rcmd"}, {"mode": "auto"}, {"filter": {"category": "shipping"}}])
def test_every_search_by_both_tells(api: Api, options: dict[str, Any]) -> None:
    assert no_good_match(api, ELSEWHERE[0], **options) is True
    assert no_good_match(api, ANSWERED[0], **options) is False


def test_words_and_codes_are_good_matches(http: httpx2.Client) -> None:
    api = Api(http)
    api.collection("matched")
    texts = [
        "Replace the seal of pump KX-7781 each year.",
        "zymurgy",
        "A cat sleeps.",
        "The tea is cold.",
        "Snow falls.",
    ]
    api.store("matched", *({"id": str(i), "text": text} for i, text in enumerate(texts)))
    for query in ("kx-7781", "why does KX-7781 keep on making this noise at night", "zymurgy"):
        assert no_good_match(api, query, collection="matched") is False
    assert no_good_match(api, "what is the offside rule in football", collection="matched") is True


def test_where_it_is_not_known_it_is_null(http: httpx2.Client) -> None:
    api = Api(http)
    for mode in ("lexical", "vector"):
        assert no_good_match(api, ANSWERED[0], mode=mode) is None
    assert no_good_match(api, "dove si trova il mio pacco che non è arrivato") is None
    assert api.ok("/search", {"like": "shipping-001"})["results"][0]["no_good_match"] is None
    api.collection("nothing")
    assert no_good_match(api, ANSWERED[0], collection="nothing") is None


def test_questions_are_asked_again_where_a_collection_grows(http: httpx2.Client) -> None:
    api = Api(http)
    api.collection("growing")
    api.store("growing", {"id": "0", "text": "The harbor lies in the fog."})
    query = "how do I return a pair of shoes"
    assert no_good_match(api, query, collection="growing") is True
    api.store("growing", {"id": "1", "text": "Shoes can be returned within 30 days."}, {"id": "2", "text": "Bread."})
    assert no_good_match(api, query, collection="growing") is False
