"""The HTTP API, route by route."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx2
import pytest

from semblance.models import catalogue
from semblance.models.catalogue import similarity
from semblance.service.rendering.playground import VIEW_TYPE
from tests.integration.conftest import Api, code_of, total
from tests.integration.raw_http import head, open_connection
from tests.support.waiting import until

MEASURES = catalogue.names(catalogue.MEASURES)
GUITAR = {"a": "A man is playing a guitar.", "b": "Someone plays an instrument."}
TAX = {"a": "A man is playing a guitar.", "b": "The new tax law passed the upper house."}
LONG = "the cat sat on a mat, " * 100


def test_a_matrix_contains_the_scores_of_all_pairs(api: Api) -> None:
    left, right = [GUITAR["a"], TAX["b"]], [GUITAR["b"], TAX["b"], "Music"]
    matrix = api.ok("/similarity", {"left": left, "right": right, "measure": "rcmd"})["scores"]
    flat = api.scores(*((a, b) for a in left for b in right), measure="rcmd")
    assert [score for row in matrix for score in row] == pytest.approx(flat, abs=1e-6)


def test_truncation_is_reported_and_can_be_refused(api: Api) -> None:
    long = {"a": "word " * 600, "b": "short"}
    assert api.ok("/similarity", {"pairs": [long, GUITAR], "truncate": "END"})["truncated"] == [True, False]
    refused = api.post("/similarity", {"pairs": [GUITAR, long], "truncate": "NONE"})
    assert code_of(refused) == (422, "text_too_long")
    assert refused.json()["errors"][0]["pointer"] == "/pairs/1/a"


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_ranks_and_explains_pairs_if_it_can(api: Api, measure: str) -> None:
    explained = catalogue.explains(measure)
    answer = api.ok("/similarity", {"pairs": [GUITAR, TAX], "measure": measure, "explain": explained})
    only_words = similarity(measure).needs in ("own_tokens", "words")
    margin = 0.0 if only_words else 0.1  # the pairs share a full stop, and no words
    assert answer["scores"][0] > answer["scores"][1] + margin
    assert answer["truncated"] == [False, False]
    assert (answer["model"], answer["measure"]) == ("minilm-graded", measure)
    assert answer["usage"]["tokens"] > 20
    if explained:
        for score, explanation in zip(answer["scores"], answer["explanations"], strict=True):
            assert explanation["score"] == pytest.approx(score, abs=1e-9)
            assert total(explanation) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("granularity", ["word", "token"])
def test_explain_returns_spans_of_the_texts(api: Api, granularity: str) -> None:
    texts = {"a": "Unbelievable soft\u00adhyphens!", "b": "An incredible na\u200bïve hyphenation"}
    answer = api.get("/explain", **texts, granularity=granularity, measure="rcmd")
    for side, text in texts.items():
        assert answer[side]["text"] == text
        for token in answer[side]["tokens"]:
            assert token["text"] == text[token["start"] : token["end"]]
    words = [token["text"] for token in answer["a"]["tokens"]]
    assert granularity == "token" or words == ["Unbelievable", "soft\u00adhyphens", "!"]
    strongest = answer["links"][0]
    assert (words[strongest["a"]], answer["b"]["tokens"][strongest["b"]]["text"]) != ("!", "An")
    assert total(answer) == pytest.approx(answer["score"], abs=1e-6)
    assert [answer["score"]] == pytest.approx(api.scores((texts["a"], texts["b"]), measure="rcmd"), abs=1e-6)
    for most in (3, 0):
        few = api.get("/explain", **texts, granularity=granularity, measure="rcmd", max_links=most)
        assert (len(few["links"]), few["omitted"] != 0) == (most, True)
        assert total(few) == pytest.approx(answer["score"], abs=1e-6)


@pytest.mark.parametrize(
    ("how", "media_type"),
    [
        ({"params": {"format": "svg"}}, "image/svg+xml"),
        ({"params": {"format": "png"}}, "image/png"),
        ({"params": {"format": "html"}}, "text/html; charset=utf-8"),
        ({"headers": {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}}, "text/html; charset=utf-8"),
        ({"headers": {"accept": "image/png"}}, "image/png"),
        ({"headers": {"accept": "application/json;q=0.5, image/svg+xml"}}, "image/svg+xml"),
        ({"headers": {"accept": "application/json;q=0, */*"}}, "text/html; charset=utf-8"),
        ({"headers": {"accept": "image/svg+xml;q=0.2, text/html;q=nan, image/png;q=0.9"}}, "image/png"),
        ({"headers": {"accept": "image/*;q=0.5, image/png"}}, "image/png"),
        ({"headers": {"accept": ""}}, "application/json"),
        ({}, "application/json"),
    ],
)
def test_explain_answers_in_the_requested_format(
    http: httpx2.Client, how: dict[str, dict[str, str]], media_type: str
) -> None:
    answer = http.get("/explain", params=GUITAR | how.get("params", {}), headers=how.get("headers"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media_type
    posted = http.post("/explain", json=GUITAR | how.get("params", {}), headers=how.get("headers"))
    assert posted.content == answer.content
    assert answer.headers["vary"] == "accept"


def test_the_playground_gets_the_same_explanation_with_a_view(http: httpx2.Client) -> None:
    answer = http.post("/explain", json=GUITAR, headers={"accept": VIEW_TYPE})
    explained = answer.json()
    view = explained.pop("view")
    assert explained == http.get("/explain", params=GUITAR).json()
    assert sum(part["value"] for part in view["parts"]) == pytest.approx(explained["score"], abs=1e-6)
    assert answer.headers["vary"] == "accept"


def test_explain_defaults_to_a_measure_of_words(api: Api) -> None:
    [scored] = api.scores((GUITAR["a"], GUITAR["b"]), measure="rcmd_words")
    explained = api.get("/explain", **GUITAR)
    assert (explained["measure"], explained["special"]) == ("rcmd_words", 0)
    assert [explained["score"], total(explained)] == pytest.approx([scored, scored], abs=1e-6)
    api.collection("usual", measure="rcmd2")
    api.store("usual", {"id": "g", "text": GUITAR["b"]})
    document = {"a": GUITAR["a"], "id": "g", "collection": "usual"}
    assert api.get("/explain", **document)["measure"] == "rcmd_words"
    [hit] = api.hits(GUITAR["a"], collection="usual")
    by_search = api.get("/explain", **document, measure="rcmd2")
    assert (by_search["b"]["text"], by_search["score"]) == (hit["text"], pytest.approx(hit["score"], abs=1e-5))
    assert code_of(api.http.get("/explain", params=document | {"id": "nope"})) == (404, "unknown_document")


def test_search_finds_by_meaning(api: Api) -> None:
    answer = api.ok("/search", {"query": "my parcel never came", "k": 3})
    assert "shipping" in {hit["metadata"]["category"] for hit in answer["results"][0]["hits"]}
    scores = [hit["score"] for hit in answer["results"][0]["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert answer["scored_from"] == "index"


@pytest.mark.parametrize("tokens", ["none", "int8"])
def test_hits_have_the_scores_of_similarity(api: Api, tokens: str) -> None:
    name, query = f"scores-{tokens}", "A cat rests."
    api.collection(name, tokens=tokens)
    texts = ["A cat sleeps.", "A dog barks at the postman.", "Stocks fell on Monday.", "The kitten naps on a chair."]
    api.store(name, *[{"id": str(i), "text": text} for i, text in enumerate(texts)])
    error = api.get(f"/collections/{name}")["token_error"]
    pooled, others = ("cosine", "negative_manhattan"), ("cmd", "dynamax_jaccard", "set_jaccard", "bertscore_f1")
    for measure in (*pooled, "rcmd", "rcmd1_words", *others):
        answer = api.ok("/search", {"query": query, "k": 4, "collection": name, "measure": measure})
        assert answer["measure"] == measure
        # an index stores directions only: measures of pooled vectors that depend on their lengths encode again
        coded = tokens == "int8" and similarity(measure).needs != "pooled"
        source = "index" if measure == "cosine" else "token_codes" if coded else "encoder"
        assert answer["scored_from"] == source
        found = {hit["id"]: hit["score"] for hit in answer["results"][0]["hits"]}
        expected = api.scores(*((query, text) for text in texts), measure=measure)
        allowed = error if source == "token_codes" else 1e-5
        assert [found[str(i)] for i in range(4)] == pytest.approx(expected, abs=allowed), measure


def test_a_measure_without_lower_bound_is_listed_searched_and_explained(api: Api, http: httpx2.Client) -> None:
    """JSON has no infinity: the missing bound is null, and the smallest score any negative number."""
    bounds = {each["name"]: each["bounds"] for each in api.get("/models")["measures"]}
    assert (bounds["word_movers"], bounds["rcmd"]) == ([None, 0.0], [-1.0, 1.0])
    body = {"query": "my parcel never came", "k": 5, "measure": "word_movers"}
    scores = [hit["score"] for hit in api.hits(**body)]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) < 0
    assert [hit["score"] for hit in api.hits(**body, min_score=scores[2])] == scores[:3]
    pair = {"a": "A cat sleeps.", "b": "The kitten naps on a chair."}
    scored = api.scores((pair["a"], pair["b"]), ("same", "same"), measure="word_movers")
    explained = api.get("/explain", **pair, measure="word_movers")
    assert explained["score"] == pytest.approx(scored[0], abs=1e-5)
    assert total(explained) == pytest.approx(explained["score"], abs=1e-6)
    assert scored[1] == 0.0
    for other, said in ((pair["b"], "minus a distance: 0 is the best possible"), (pair["a"], "Identical to the model")):
        page = http.get("/explain", params={"a": pair["a"], "b": other, "measure": "word_movers", "format": "html"})
        assert said in page.text


def test_explained_hits_sum_to_scores_of_newly_encoded_texts(api: Api) -> None:
    body = {"queries": ["late delivery", "change my password"], "k": 4, "measure": "rcmd1", "explain": True}
    answer = api.ok("/search", body)
    assert answer["scored_from"] == "encoder"
    for result in answer["results"]:
        assert len(result["hits"]) == 4
        for hit in result["hits"]:
            assert hit["explanation"]["b"]["text"] == hit["text"]
            assert total(hit["explanation"]) == pytest.approx(hit["score"], abs=1e-6)


def test_filters_and_min_score_apply_before_k(api: Api) -> None:
    body = {"query": "how do I get a refund", "k": 20, "filter": {"category": "plans", "views": {"gte": 10}}}
    hits = api.hits(**body)
    assert len(hits) == 20, "all of that category, although other documents are nearer"
    assert {hit["metadata"]["category"] for hit in hits} == {"plans"}
    assert [hit["id"] for hit in api.hits(**body, min_score=hits[4]["score"])] == [hit["id"] for hit in hits[:5]]


def test_min_score_applies_to_the_scores_in_the_answer(api: Api) -> None:
    """With token codes, scores before and after encoding again differ a little; the final one counts."""
    api.collection("least", tokens="int8", measure="rcmd")
    api.store("least", *[{"id": str(i), "text": f"Lamp number {i} glows in colour {i % 7}."} for i in range(8)])
    body = {"query": "a glowing lamp", "collection": "least", "explain": True}
    shown = [hit["score"] for hit in api.hits(**body)]
    for least in shown:
        assert [hit["score"] for hit in api.hits(**body, min_score=least)] == [each for each in shown if each >= least]


def test_documents_are_stored_replaced_and_deleted(api: Api, http: httpx2.Client) -> None:
    api.collection("life")
    address, query = "/collections/life/documents/a/b c", {"query": "underwater vessel", "collection": "life"}
    first = {"id": "a/b c", "text": "Rabbits eat carrots.", "metadata": {"n": 1}}
    assert api.store("life", first, {"id": "x", "text": "Tax."})["upserted"] == 2
    assert api.get(address)["metadata"] == {"n": 1}
    second = api.store("life", {"id": "a/b c", "text": "Submarines dive.", "metadata": {"n": 2}})
    assert api.hits(**query, min_version=second["version"])[0]["metadata"] == {"n": 2}
    assert http.delete(address).json()["version"] > second["version"]
    assert [hit["id"] for hit in api.hits(**query)] == ["x"]
    for answer in (http.get(address), http.delete(address)):
        assert code_of(answer) == (404, "unknown_document")


def test_an_unchanged_text_is_not_encoded_again(api: Api) -> None:
    api.collection("again", passages="none")
    short, long = {"id": "a", "text": "Same text."}, {"id": "b", "text": LONG}
    first = api.store("again", short, long)
    second = api.store("again", short | {"metadata": {"new": True}}, long)
    assert first["usage"]["tokens"] > second["usage"]["tokens"] == 0
    assert second["truncated"] == first["truncated"] == ["b"]
    assert [hit["id"] for hit in api.hits("same text", collection="again", filter={"new": True})] == ["a"]


def test_versions_of_a_deleted_collection_are_refused(api: Api) -> None:
    versions = []
    for _ in range(2):
        api.collection("lives")
        versions.append(api.store("lives", {"id": "a", "text": "One."})["version"])
    old, new = versions
    body = {"query": "one", "collection": "lives"}
    assert api.ok("/search", body | {"min_version": new})["version"] == new
    for never in (old, new.split(":")[0] + ":99"):
        assert code_of(api.post("/search", body | {"min_version": never})) == (409, "version_mismatch")


def test_creating_again_changes_nothing_and_other_settings_conflict(http: httpx2.Client, api: Api) -> None:
    settings = {"passages": {"tokens": 64, "overlap": 2}}
    api.collection("twice", **settings)
    for same in (settings, {}):
        again = http.put("/collections/twice", json=same)
        assert (again.status_code, again.json()["passages"]) == (200, {"tokens": 64, "overlap": 2, "count": 0})
    for other in ({"measure": "rcmd"}, {"passages": "none"}):
        assert code_of(http.put("/collections/twice", json=other)) == (409, "collection_differs")
    assert http.delete("/collections/twice").status_code == 204
    assert http.get("/collections/twice").status_code == 404


def test_models_lists_models_and_measures(api: Api) -> None:
    answer = api.get("/models")
    default, *_, other = answer["models"]
    assert [default[each] for each in ("name", "default", "loaded", "dim")] == ["minilm-graded", True, True, 384]
    assert [other[each] for each in ("name", "default")] == ["minilm", False], "and loaded if another test used it"
    assert default["space"] != other["space"]
    assert {each["name"] for each in answer["measures"]} == set(MEASURES)
    assert all(each["summary"].endswith(".") for each in answer["measures"])


def test_every_answer_carries_an_id_and_timings(http: httpx2.Client) -> None:
    mine = http.get("/live", headers={"x-request-id": "my-id.7"})
    assert mine.headers["x-request-id"] == "my-id.7"
    forged = http.get("/live", headers={"x-request-id": "no spaces or <tags>"})
    assert re.fullmatch("[0-9a-f]{32}", forged.headers["x-request-id"])
    timed = http.post("/similarity", json={"pairs": [{"a": "never seen before", "b": "nor this"}]})
    found = dict(re.findall(r"(\w+);dur=([\d.]+)", timed.headers["server-timing"]))
    assert list(found) == ["queue", "tokenise", "encode", "search", "rescore", "highlight", "keep", "total"]
    assert float(found["total"]) >= float(found["encode"]) > 0


def test_live_ready_and_metrics(api: Api, http: httpx2.Client) -> None:
    assert api.get("/live") == {"status": "live"}
    assert api.get("/ready")["status"] == "ready"
    api.scores(("a pair", "of texts"))
    exposition = http.get("/metrics").text
    assert 'semblance_index_documents{collection="default"} 200.0' in exposition
    assert 'route="/similarity"' in exposition
    assert 'semblance_queued_tokens{urgency="interactive"} 0.0' in exposition


def test_docs_load_nothing_from_other_hosts(http: httpx2.Client) -> None:
    page = http.get("/docs").text
    for address in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert address.startswith("docs/assets/")
        assert http.get(address).status_code == 200


def figure(http: httpx2.Client, series: str) -> float:
    """A number of /metrics; 0 for a series that is not there."""
    return float(http.get("/metrics").text.partition(f"\n{series} ")[2].partition("\n")[0] or 0)


def test_a_disconnect_removes_texts_from_the_queue(http: httpx2.Client, url: str) -> None:
    queued = 'semblance_queued_tokens{urgency="interactive"}'
    encoded = "semblance_batch_tokens_total"
    left = 'semblance_requests_total{method="POST",route="/similarity",status="499"}'

    def leave(number: int) -> bool:
        """Whether the service saw this client leave before it had answered."""
        texts = [f"{number} {i} " + "never seen " * 100 for i in range(400)]
        body = json.dumps({"left": texts[:1], "right": texts}).encode()
        before = figure(http, encoded), figure(http, left)
        with open_connection(url) as connection:
            connection.sendall(head("POST", "/similarity", length=len(body)) + body)
            until(lambda: figure(http, queued) or figure(http, encoded) > before[0], "texts in the queue")
        until(lambda: not figure(http, queued), "an empty queue")
        return figure(http, left) > before[1] and figure(http, encoded) - before[0] < 200 * 400

    numbers = count()
    until(lambda: leave(next(numbers)), "a request that is given up, whose texts are not all encoded")


def test_a_collection_recreated_during_a_write_gets_its_own_settings(api: Api, http: httpx2.Client) -> None:
    encoded, attempts = "semblance_batch_tokens_total", count()

    def recreated_during_a_write() -> bool:
        api.collection("swap", measure="rcmd")
        text = f"{next(attempts)} " + "slow to encode " * 50
        documents = [{"id": str(i), "text": f"{i} {text}"} for i in range(40)]
        before = figure(http, encoded)
        with ThreadPoolExecutor(1) as pool:
            storing = pool.submit(api.post, "/collections/swap/documents", {"documents": documents})
            until(lambda: storing.done() or figure(http, encoded) > before, "the first of many batches")
            api.collection("swap", tokens="int8", measure="rcmd")
            came_first = not storing.done()
            assert storing.result().status_code == 200
        return came_first

    until(recreated_during_a_write, "a collection that is recreated before a write ends")
    assert api.get("/collections/swap")["token_error"] is not None
    assert len(api.hits("slow", collection="swap", k=40)) == 40


def test_each_side_says_which_characters_were_read(api: Api) -> None:
    explained = api.ok("/explain", {"a": LONG, "b": "short", "truncate": "START"})
    assert (explained["a"]["truncated"], explained["b"]["truncated"], explained["truncated"]) == (True, False, True)
    assert (explained["a"]["read_start"], explained["a"]["read_end"]) == (explained["a"]["tokens"][0]["start"], 2200)
    assert (explained["b"]["read_start"], explained["b"]["read_end"]) == (0, 5)
    [pair] = api.ok("/similarity", {"pairs": [{"a": "short", "b": LONG}], "explain": True, "truncate": "END"})[
        "explanations"
    ]
    assert (pair["b"]["read_start"], pair["b"]["read_end"]) == (0, pair["b"]["tokens"][-1]["end"])
    assert 500 < pair["b"]["read_end"] < 2200
    whole, read = api.scores(*(("short", each) for each in (LONG, LONG[: pair["b"]["read_end"]])), truncate="END")
    assert whole == pytest.approx(read, abs=1e-5)
    for format_ in ("svg", "html"):
        body = {"b": "short", "format": format_, "truncate": "END"}
        drawn = [api.post("/explain", body | {"a": text}).text for text in (LONG, "word")]
        assert ["was cut" in each for each in drawn] == [True, False]


def test_long_texts_are_explained_by_their_nearest_passages(api: Api) -> None:
    needle = "The old lighthouse keeper feeds three orange cats. "
    text = "Ships carry grain along the coast in autumn. " * 60 + needle + "The price of salt is unknown. " * 60
    answer = api.post("/explain", {"a": "a keeper of a lighthouse and his cats", "b": text})
    explained = answer.json()
    assert int(answer.headers["x-semblance-passages"]) > 5
    assert explained["b"]["read_start"] <= text.index(needle) < explained["b"]["read_end"] < len(text)
    assert {"lighthouse", "cats"} <= {explained["b"]["tokens"][link["b"]]["text"] for link in explained["links"][:5]}
    assert total(explained) == pytest.approx(explained["score"], abs=1e-6)
    assert explained["truncated"] is False
    for measure in ("cosine", "rcmd_words"):
        pair = {"pairs": [{"a": explained["a"]["text"], "b": text}], "measure": measure}
        [score] = api.ok("/similarity", pair)["scores"]
        assert api.ok("/explain", {"a": explained["a"]["text"], "b": text, "measure": measure})["score"] == (
            pytest.approx(score, abs=1e-6)
        )
    drawn = api.post("/explain", {"a": "a keeper of cats", "b": text, "format": "svg"}).text
    assert "was read in passages" in drawn
    assert "lighthouse" in drawn


def test_a_long_query_finds_documents_by_all_of_it(api: Api) -> None:
    api.collection("needles")
    api.store("needles", {"id": "cats", "text": "Three orange cats in a lighthouse."}, {"id": "tax", "text": "Taxes."})
    query = "Ships carry grain along the coast. " * 20 + "A lighthouse keeper feeds three orange cats. " * 30
    body = {"query": query, "collection": "needles", "k": 2}
    for fields in ({}, {"measure": "rcmd_words", "explain": True, "highlight": {}}):
        found = api.ok("/search", body | fields)
        assert found["usage"]["passages"] >= 2
        assert found["truncated"] == [False]
        assert [hit["id"] for hit in found["results"][0]["hits"]] == ["cats", "tax"]
    [first, _] = found["results"][0]["hits"]
    assert total(first["explanation"]) == pytest.approx(first["score"], abs=1e-6)
    difference = {"query": query, "collection": "needles", "a": "cats", "b": "tax", "measure": "rcmd_words"}
    parts = api.ok("/explain/difference", difference)
    assert sum(part["difference"] for part in parts["parts"]) == pytest.approx(parts["difference"], abs=1e-9)


def test_truncated_documents_are_marked_and_counted(api: Api, http: httpx2.Client) -> None:
    api.collection("cut", passages="none")
    api.store("cut", {"id": "long", "text": LONG}, {"id": "short", "text": "A dog."})
    assert api.get("/collections/cut")["truncated"] == 1
    hits = api.hits("a cat", collection="cut", explain=True)
    assert {hit["id"]: (hit["truncated"], hit["explanation"]["b"]["truncated"]) for hit in hits} == {
        "long": (True, True),
        "short": (False, False),
    }
    assert [each["truncated"] for each in api.get("/collections")["collections"] if each["name"] == "cut"] == [1]
    http.delete("/collections/cut/documents/long")
    assert api.get("/collections/cut")["truncated"] == 0


def test_a_filter_that_no_document_can_meet_is_warned_of(api: Api) -> None:
    body = {"query": "parcel", "k": 2, "filter": {"or": [{"colour": "red"}, {"views": "12"}, {"category": "shipping"}]}}
    answer = api.ok("/search", body)
    assert len(answer["results"][0]["hits"]) == 2
    assert warned(answer) == [
        ("/filter/or/0/colour", "unknown_metadata_field"),
        ("/filter/or/1/views", "filter_type_mismatch"),
    ]
    for where in ({"views": {"gt": 10**9}}, None):
        assert api.ok("/search", body | {"filter": where})["warnings"] == []
    unknown = [("/filter/colour", "unknown_metadata_field")]
    for path, options in (("/search", body | {"measure": "rcmd"}), ("/collections/default/count", {})):
        assert warned(api.ok(path, options | {"filter": {"colour": "red"}})) == unknown
    odd = api.ok("/search", body | {"filter": {"\ud800\x00" * 200: 1}})["warnings"]
    assert [each["code"] for each in odd] == ["unknown_metadata_field"]
    assert len(odd[0]["detail"]) < 1000


@pytest.mark.parametrize(
    ("field", "body", "pointer"),
    [
        ("sort", {"field": "Category"}, "/sort/field"),
        ("group_by", "categry", "/group_by"),
        ("facets", [{"field": "category"}, {"field": "categories"}], "/facets/1/field"),
        ("boosts", [{"field": "categry", "full_at": 9, "weight": 0.1}], "/boosts/0/field"),
        ("fields", ["category", "categry"], "/fields/1"),
    ],
)
def test_unknown_metadata_fields_are_warned_of_everywhere(api: Api, field: str, body: object, pointer: str) -> None:
    [warning] = api.ok("/search", {"query": "parcel", field: body})["warnings"]
    assert (warning["pointer"], warning["code"]) == (pointer, "unknown_metadata_field")
    assert warning["detail"].endswith("did you mean `category`?")


def test_unknown_fields_of_counts_lists_and_maps_are_warned_of(api: Api) -> None:
    for path, body, pointer in (
        ("count", {"facets": [{"field": "none"}]}, "/facets/0/field"),
        ("list", {"sort": {"field": "none"}}, "/sort/field"),
        ("map", {"field": "none"}, "/field"),
    ):
        assert warned(api.ok(f"/collections/default/{path}", body)) == [(pointer, "unknown_metadata_field")]


def test_dates_in_another_form_are_warned_of(api: Api) -> None:
    api.collection("dated")
    api.store("dated", {"id": "a", "text": "An invoice.", "metadata": {"iso": "2026-05-31", "odd": "31.05.2026"}})
    body = {"query": "invoice", "collection": "dated", "filter": {"iso": {"gte": "31.05.2026"}}}
    assert warned(api.ok("/search", body)) == [("/filter/iso", "unread_date")]
    boosts = [{"field": field, "half_life_days": 30, "weight": 0.1} for field in ("iso", "odd")]
    asked = {"query": "invoice", "collection": "dated", "boosts": boosts, "filter": {"iso": {"gte": "2026-05"}}}
    assert warned(api.ok("/search", asked)) == [("/boosts/1/field", "unread_date")]


def warned(answer: Any) -> list[tuple[str, str]]:
    return [(each["pointer"], each["code"]) for each in answer["warnings"]]


def test_warnings_about_texts_reach_every_answer(api: Api, http: httpx2.Client) -> None:
    """A model of English reads no Russian; the texts are at the places that the pointers name."""
    russian, english = "Привет, как дела сегодня утром?", "Good morning to you."
    api.collection("warned", measure="cosine")
    pairs = {"pairs": [{"a": english, "b": russian}]}
    for path, body, pointers in (
        ("/similarity", pairs, ["/pairs/0/b"]),
        ("/similarity", pairs, ["/pairs/0/b"]),  # its embeddings are cached now
        ("/similarity", {"left": [russian, english], "right": [russian]}, ["/left/0", "/right/0"]),
        ("/explain", {"a": russian, "b": english}, ["/a"]),
        ("/search", {"query": russian, "collection": "warned"}, ["/query"]),
        ("/search", {"queries": [english, russian], "collection": "warned", "explain": True}, ["/queries/1"]),
        ("/v1/embeddings", {"model": "minilm", "input": [english, russian]}, ["/input/1"]),
        ("/similarity", {"pairs": [{"a": english, "b": english}]}, []),
    ):
        assert warned(api.ok(path, body)) == [(pointer, "unread_text") for pointer in pointers], path
    stored = api.store("warned", {"id": "e", "text": english}, {"id": "r", "text": russian})
    assert warned(stored) == [("/documents/1/text", "unread_text")]
    rows = (("1", english), ("", "x"), ("2", russian * 2))
    *batches, _ = api.lines("warned", "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in rows).encode())
    [line] = [each for batch in batches for each in batch["warnings"]]
    assert (line["line"], line["pointer"], line["code"]) == (3, "/text", "unread_text")
    for format_ in ("html", "svg"):
        drawn = [http.get("/explain", params={"a": english, "b": b, "format": format_}) for b in (russian, english)]
        assert ["mean little" in each.text for each in drawn] == [True, False]
        words = [" ".join(re.sub("<[^>]*>", " ", each.text).split()) for each in drawn]  # a picture breaks lines
        assert ["scripts/install multilingual" in each for each in words] == [True, False]


def test_the_root_is_a_page_or_json(http: httpx2.Client) -> None:
    page = http.get("/", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "require-trusted-types-for 'script'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    [style] = re.findall(r'href="(playground/[0-9a-f]{12}/style.css)"', page.text)
    asset = http.get(f"/{style}")
    assert (asset.status_code, asset.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in asset.headers["cache-control"]
    about = http.get("/")
    version = about.json()["version"]
    assert about.json() == {"name": "semblance", "version": version, "api": "docs", "openapi": "openapi.json"}
    assert about.headers["vary"] == page.headers["vary"] == "Accept"
