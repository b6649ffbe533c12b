"""Verdicts of explanations and near-duplicates are those of POST /same; pages and pictures show them."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from semblance_client import Client, Verdict

from tests.integration.conftest import Api
from tests.support.command_line import semblance

PAIRS = [
    ("How do I turn on dark mode?", "How do I turn off dark mode?"),
    ("Invoice 117 was paid", "Invoice 113 was paid"),
    ("How can I reset my password?", "What is the best way to reset my password?"),
    ("Wo ist mein Paket?", "Wo ist es nicht?"),
    ("The parcel is lost. " * 200, "The parcel is lost."),
    ("Go to Rome <b>", "Go to Rome <b>"),
]
OTHERS: list[dict[str, Any]] = [{}, {"measure": "cosine", "granularity": "token"}, {"max_links": 0, "truncate": "END"}]


def same(api: Api, *pairs: tuple[str, str], **options: object) -> list[dict[str, Any]]:
    asked = {"pairs": [{"a": a, "b": b} for a, b in pairs], **options}
    found: list[dict[str, Any]] = api.ok("/same", asked)["verdicts"]
    return found


@pytest.mark.parametrize("options", OTHERS)
def test_explanations_have_the_verdict_of_same(http: Any, options: dict[str, Any]) -> None:
    api = Api(http)
    for pair, verdict in zip(PAIRS, same(api, *PAIRS), strict=True):
        body = {"a": pair[0], "b": pair[1], **options}
        assert api.get("/explain", **body)["same"] == verdict
        assert api.ok("/explain", body)["same"] == verdict


def test_pairs_of_similarity_are_judged_when_explained(http: Any) -> None:
    api = Api(http)
    body = {"pairs": [{"a": a, "b": b} for a, b in PAIRS], "measure": "rcmd"}
    explained = api.ok("/similarity", {**body, "explain": True})["explanations"]
    assert [each["same"] for each in explained] == same(api, *PAIRS)
    assert api.ok("/similarity", body)["explanations"] is None


def test_models_without_classifier_and_hits_have_no_verdict(http: Any) -> None:
    api = Api(http)
    a, b = PAIRS[0]
    assert api.get("/explain", a=a, b=b, model="minilm")["same"] is None
    api.collection("judged")
    api.store("judged", {"id": "1", "text": b})
    assert api.get("/explain", a=a, id="1", collection="judged")["same"] is None
    [hit] = api.hits(a, collection="judged", explain=True)
    assert hit["explanation"]["same"] is None
    page = http.get("/explain", params={"a": a, "b": b, "model": "minilm", "format": "html"}).text
    assert "Different" not in page
    assert not re.search(r'class="[^"]*(verdict|differs)', page)


@pytest.mark.parametrize("kind", ["html", "svg"])
def test_pages_and_pictures_show_the_verdict_above_the_score(http: Any, kind: str) -> None:
    for (a, b), verdict in zip(PAIRS, same(Api(http), *PAIRS), strict=True):
        shown = http.get("/explain", params={"a": a, "b": b, "format": kind}).text
        shown = re.sub(r"(?s)<style>.*?</style>|<title>.*?</title>", " ", shown)
        said = unescape(" ".join(re.sub("<[^>]*>", " ", shown).split())).replace(" : ", ": ")
        line = " ".join(str(Verdict.model_validate(verdict)).split())
        assert line in said
        assert said.index(line) < said.index("score 0." if a != b else "score 1.")


def test_print_begins_with_the_verdict(http: Any) -> None:
    with Client(str(http.base_url)) as client:
        why = client.explain(*PAIRS[1])
        assert str(why).splitlines()[0] == "Different: number 117 / 113"
        assert "<b>Different: number 117 / 113</b>" in why._repr_html_()
        assert str(client.explain(*PAIRS[1], model="minilm")).startswith("0.")


def test_near_duplicates_say_what_differs(http: Any, url: str) -> None:
    api = Api(http)
    texts = {"1": PAIRS[1][0], "2": PAIRS[1][1], "3": "Cats sleep."}
    for name, model, line in (("bills", None, "Different: number 117 / 113"), ("plain", "minilm", None)):
        api.collection(name, model=model)
        api.store(name, *({"id": doc_id, "text": text} for doc_id, text in texts.items()))
        asked = {"min_score": 0.5, "explain": True}
        [group] = api.ok(f"/collections/{name}/duplicates", asked)["groups"]
        first, other = group["documents"]
        assert first["explanation"] is None
        [verdict] = same(api, (first["text"], other["text"])) if line else [None]
        assert other["explanation"]["same"] == verdict
        ran = semblance("duplicates", name, "--min-score", "0.5", "--explain", "--url", url)
        assert ("Different" in ran.stdout) == (f"\n      {line}\n" in ran.stdout) == bool(line)
        ran = semblance("duplicates", name, "--min-score", "0.5", "--explain", "--json", "--url", url)
        assert json.loads(ran.stdout)["documents"][1]["same"] == line
