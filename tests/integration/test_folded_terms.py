"""Texts are found through the API however their letters, digits, dashes and pictographs are typed."""

from __future__ import annotations

import httpx2
import pytest

from tests.integration.conftest import Api

TEXTS = {
    "pl": "Nasz sklep w mieście Łódź jest otwarty.",
    "da": "Butikken i København er lukket.",
    "ar": "ذهبت إلى مكتبة الجامعة يوم ١٢ مايو.",
    "fa": "این کتاب\u200cها را خواندم.",
    "code": "The spare part AB\u201112 is on the\u00a0shelf.",
    "hidden": "\u200fOur cat\u00adalogue\u200b number\ufeff is below.",
    "emoji": "Great service 👍🏽 and fast delivery ❤️ today.",
    "other": "Nothing of this kind is here.",
}
SEARCHES = [
    ("lodz", "pl", ["Łódź"]),
    ("KOBENHAVN", "da", ["København"]),
    ("مكتبه", "ar", ["مكتبة"]),
    ("12 مايو", "ar", ["١٢", "مايو"]),
    ("كتابها", "fa", ["کتاب\u200cها"]),
    ("AB\u221212", "code", ["AB\u201112"]),
    ("catalogue", "hidden", ["cat\u00adalogue\u200b"]),
    ("👍", "emoji", ["👍🏽"]),
    ("❤", "emoji", ["❤️"]),
]


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("folded", tokens="int8")
    api.store("folded", *({"id": key, "text": text} for key, text in TEXTS.items()))
    return api


@pytest.mark.parametrize(("query", "doc_id", "marked"), SEARCHES, ids=[doc_id for _, doc_id, _ in SEARCHES])
def test_a_hit_marks_the_original_words_in_its_text(api: Api, query: str, doc_id: str, marked: list[str]) -> None:
    hit = api.hits(query, collection="folded", mode="lexical", highlight=True)[0]
    assert hit["id"] == doc_id
    assert hit["text"] == TEXTS[doc_id]
    spans = [span for term in hit["lexical"]["terms"] for span in term["spans"]]
    assert sorted(TEXTS[doc_id][start:end] for start, end in spans) == sorted(marked)
    for mark in hit["highlight"]["marks"]:
        assert 0 <= mark["start"] < mark["end"] <= len(TEXTS[doc_id])


def test_a_hybrid_search_counts_folded_terms(api: Api) -> None:
    [first, *_] = api.hits("AB\uff0d12", collection="folded", mode="hybrid")
    assert first["id"] == "code"
    assert first["lexical"]["bonus"] > 0
