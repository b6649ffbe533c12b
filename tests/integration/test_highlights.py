"""Highlights of hits: sums, offsets, and where the token vectors come from."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

TEXTS = {
    "shop": "Our shop opens at nine. 🙂 The parcel that never came is paid back within five days. We close at six.",
    "ja": "荷物はまだ届いていません。お店は九時に開きます。",
    "long": "The museum shows ships and maps. " * 60 + "A lost parcel is replaced free of charge. " + "It rains. " * 60,
    "short": "Parcel",
}
QUERY = "what if my parcel is lost?"


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    for tokens in ("int8", "none"):
        api.collection(f"marked-{tokens}", tokens=tokens)
        api.store(f"marked-{tokens}", *({"id": doc_id, "text": text} for doc_id, text in TEXTS.items()))
    return api


def search(api: Api, query: str = QUERY, tokens: str = "int8", **options: object) -> dict[str, dict[str, Any]]:
    found = api.hits(query, **{"collection": f"marked-{tokens}", "highlight": True} | options)
    return {hit["id"]: hit for hit in found}


@pytest.mark.parametrize("tokens", ["int8", "none"])
@pytest.mark.parametrize("query", [QUERY, "荷物", "🙂 came"])
def test_what_is_marked_and_what_is_not_make_the_score(api: Api, tokens: str, query: str) -> None:
    own = search(api, query, tokens, measure="rcmd1_content")
    for options in ({}, {"measure": "rcmd"}, {"mode": "hybrid"}, {"explain": True, "measure": "rcmd_words"}):
        for doc_id, hit in search(api, query, tokens, **options).items():
            found, text = hit["highlight"], TEXTS[doc_id]
            marked = sum(mark["contribution"] for mark in found["marks"])
            assert marked + found["rest"] + found["special"] == pytest.approx(found["score"], abs=1e-9)
            assert found["measure"] == "rcmd1_content"
            if (hit["start"], hit["end"]) == (own[doc_id]["start"], own[doc_id]["end"]):
                assert found["score"] == pytest.approx(own[doc_id]["score"], abs=1e-5), (
                    "that of a search by rcmd1_content"
                )
            assert found["text"] == text[found["start"] : found["end"]]
            assert hit["start"] <= found["start"] <= found["end"] <= hit["end"]
            assert len(found["text"]) <= 240
            assert found["cut_start"] == bool(text[: found["start"]].strip())
            assert found["cut_end"] == bool(text[found["end"] :].strip())
            for mark in found["marks"]:
                assert found["start"] <= mark["start"] < mark["end"] <= found["end"]
                assert mark["query"]


def test_the_snippet_is_the_sentence_that_answers(api: Api) -> None:
    long = search(api)["long"]["highlight"]
    assert "A lost parcel is replaced free of charge." in long["text"]
    assert any("parcel" in TEXTS["long"][mark["start"] : mark["end"]] for mark in long["marks"])
    short = search(api, highlight={"chars": 45, "marks": 2})["shop"]["highlight"]
    assert len(short["text"]) <= 45
    assert sum(mark["end"] - mark["start"] for mark in short["marks"]) < 45


def test_no_highlights_without_the_wish(api: Api) -> None:
    for wish in (None, False):
        assert all(hit["highlight"] is None for hit in search(api, highlight=wish).values())
