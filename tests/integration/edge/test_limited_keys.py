"""Keys with limits at a running service: every route that takes a collection, and keys read again on SIGHUP."""

from __future__ import annotations

import hashlib
import json
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import require_no_internal_errors
from tests.support.running_service import Service, running_process
from tests.support.waiting import until

ENTRIES = {
    "ops": "read+write+admin",
    "faq": "read+write+admin:collections=faq+faq-*",
    "acme": "read+write:filter=tenant=acme",
    "zeta": "read+write:collections=faq:filter=tenant=zeta",
}
OPS, FAQ, ACME, ZETA = ENTRIES


def entry(name: str) -> str:
    return f"{name}:{ENTRIES[name]}:{hashlib.sha256(name.encode()).hexdigest()}"


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text("".join(f"{entry(name)}\n" for name in (FAQ, ACME, ZETA)))
    return file


@pytest.fixture(scope="module")
def limited_service(key_file: Path) -> Iterator[Service]:
    with running_process(api_keys=entry(OPS), api_keys_file=str(key_file)) as running:
        yield running
        require_no_internal_errors(running, OPS)


Send = Callable[..., httpx2.Response]


@pytest.fixture(scope="module")
def send(limited_service: Service) -> Iterator[Send]:
    """Sends a request with the key of that name; all share connections."""
    with httpx2.Client(base_url=limited_service.url, timeout=120) as client:

        def send(key: str, method: str, path: str, body: object = None, **headers: str) -> httpx2.Response:
            content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
            kind = {"content-type": "application/json"} if content else {}
            sent = {"authorization": f"Bearer {key}"} | kind | headers
            answer = client.request(method, path, content=content, headers=sent)
            assert answer.status_code != 500, answer.text
            return answer

        yield send


DOCUMENTS = [
    {"id": "a", "text": "A cat sleeps.", "metadata": {"tenant": "acme", "kind": "pet"}},
    {"id": "b", "text": "A dog barks.", "metadata": {"tenant": "acme"}},
    {"id": "s", "text": "A cat and a dog.", "metadata": {"tenant": ["acme", "zeta"]}},
    {"id": "z", "text": "A cat runs.", "metadata": {"tenant": "zeta", "kind": "secret"}},
    {"id": "n", "text": "A cat eats.", "metadata": {}},
]
SEEN = {OPS: set("abszn"), FAQ: set("abszn"), ACME: set("abs"), ZETA: set("sz")}


@pytest.fixture(autouse=True)
def collections(send: Send) -> None:
    """The collections faq and hr, with the same documents."""
    for name in ("faq", "hr"):
        send(OPS, "DELETE", f"/collections/{name}")
        assert send(OPS, "PUT", f"/collections/{name}", {"tokens": "int8"}).status_code == 201
        assert send(OPS, "POST", f"/collections/{name}/documents", {"documents": DOCUMENTS}).status_code == 200


def stored(send: Send, name: str = "faq") -> Any:
    return send(OPS, "GET", f"/collections/{name}/documents").json()["documents"]


@pytest.mark.parametrize("mode", ["vector", "lexical", "hybrid", "auto"])
@pytest.mark.parametrize("measure", ["cosine", "rcmd_words"])
def test_searches_find_exactly_the_visible_documents(send: Send, mode: str, measure: str) -> None:
    body = {"query": "a cat or a dog", "collection": "faq", "k": 10, "mode": mode, "measure": measure}
    for key, seen in SEEN.items():
        answer = send(key, "POST", "/search", body | {"explain": True, "highlight": {}})
        assert answer.status_code == 200, answer.text
        [result] = answer.json()["results"]
        assert {hit["id"] for hit in result["hits"]} == seen, key


def test_filters_narrow_and_never_widen_what_is_visible(send: Send) -> None:
    for where in ({"tenant": "zeta"}, {"or": [{"kind": "secret"}, {"tenant": "zeta"}]}, {"not": {"kind": "pet"}}):
        body = {"query": "a cat", "collection": "faq", "k": 10, "filter": where}
        answer = send(ACME, "POST", "/search", body).json()
        expected = {"b", "s"} if "not" in where else {"s"}
        assert {hit["id"] for hit in answer["results"][0]["hits"]} == expected
        assert answer["warnings"] == []
    body = {"query": "a cat", "collection": "faq", "filter": {"nosuch": 1}}
    assert [len(send(key, "POST", "/search", body).json()["warnings"]) for key in (OPS, ACME)] == [1, 0]


def test_only_visible_documents_take_the_place_of_a_query(send: Send) -> None:
    for doc_id in "abszn":
        answer = send(ACME, "POST", "/search", {"like": doc_id, "collection": "faq", "k": 10})
        assert answer.status_code == (200 if doc_id in SEEN[ACME] else 404), answer.text
        if answer.is_success:
            assert {hit["id"] for hit in answer.json()["results"][0]["hits"]} == SEEN[ACME] - {doc_id}


def test_counts_and_facets_are_of_visible_documents(send: Send) -> None:
    body = {"facets": [{"field": "kind"}, {"field": "tenant"}]}
    counted = send(ACME, "POST", "/collections/faq/count", body).json()
    assert counted["count"] == 3
    assert "secret" not in json.dumps(counted)
    narrowed = send(ACME, "POST", "/collections/faq/count", {"filter": {"kind": "secret"}}).json()
    assert (narrowed["count"], narrowed["warnings"]) == (0, [])
    assert [send(key, "POST", "/collections/faq/count", {}).json()["count"] for key in SEEN] == [5, 5, 3, 2]


def test_lists_and_pages_have_visible_documents(send: Send) -> None:
    for key, seen in SEEN.items():
        ids, cursor = [], ""
        while True:
            page = send(key, "GET", f"/collections/faq/documents?limit=1{cursor}").json()
            ids += [each["id"] for each in page["documents"]]
            if page["cursor"] is None:
                break
            cursor = f"&cursor={page['cursor']}"
        assert ids == sorted(seen)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_documents_are_shown_and_explained_if_visible(send: Send, method: str) -> None:
    for key, seen in SEEN.items():
        for doc_id in "abszn":
            shown = send(key, "GET", f"/collections/faq/documents/{doc_id}")
            pair = {"a": "a cat", "id": doc_id, "collection": "faq"}
            query = "&".join(f"{name}={value}" for name, value in pair.items())
            sent = ("GET", f"/explain?{query}") if method == "GET" else ("POST", "/explain", pair)
            explained = send(key, *sent)
            for answer in (shown, explained):
                assert answer.status_code == (200 if doc_id in seen else 404), answer.text
                assert answer.is_success or answer.json()["code"] == "unknown_document"


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_differences_are_explained_between_visible_documents(send: Send, mode: str) -> None:
    for a, b, status in (("a", "b", 200), ("s", "b", 200), ("a", "z", 404), ("n", "a", 404)):
        body = {"query": "a cat", "a": a, "b": b, "collection": "faq", "mode": mode}
        answer = send(ACME, "POST", "/explain/difference", body)
        assert answer.status_code == status, answer.text


def test_documents_are_stored_for_ones_own_tenant_only(send: Send) -> None:
    before = stored(send)
    own, taken = {"id": "new", "text": "A bird."}, {"id": "z", "text": "Mine now."}
    for document in (
        own,
        own | {"metadata": {"tenant": "zeta"}},
        own | {"metadata": {"tenant": {"acme": "acme"}}},
        taken | {"metadata": {"tenant": "acme"}},
        {"id": "n", "text": "A cat eats.", "metadata": {"tenant": "acme"}},
    ):
        fine = own | {"id": "fine", "metadata": {"tenant": "acme"}}
        answer = send(ACME, "POST", "/collections/faq/documents", {"documents": [fine, document]})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        lines = "\n".join(map(json.dumps, [fine, document])).encode()
        streamed = send(ACME, "POST", "/collections/faq/documents", lines, **{"content-type": "application/x-ndjson"})
        assert json.loads(streamed.text.splitlines()[-1])["error"] == "forbidden"
        assert stored(send) == before


def test_own_documents_are_stored_and_deleted(send: Send) -> None:
    own = {"text": "A bird.", "metadata": {"tenant": "acme"}}
    ndjson = {"content-type": "application/x-ndjson"}
    documents = {"documents": [own | {"id": "a"}, own | {"id": "c"}]}
    assert send(ACME, "POST", "/collections/faq/documents", documents).json()["upserted"] == 2
    streamed = send(ACME, "POST", "/collections/faq/documents", json.dumps(own | {"id": "d"}).encode(), **ndjson)
    assert json.loads(streamed.text.splitlines()[-1])["done"] is True
    for doc_id, status in (("c", 200), ("s", 200), ("z", 404), ("n", 404), ("c", 404)):
        assert send(ACME, "DELETE", f"/collections/faq/documents/{doc_id}").status_code == status
    assert [each["id"] for each in stored(send)] == ["a", "b", "d", "n", "z"]


def test_acts_on_many_documents_reach_visible_ones_only(send: Send) -> None:
    listed = send(ACME, "POST", "/collections/faq/list", {"sort": {"field": "kind"}}).json()["documents"]
    assert [each["id"] for each in listed] == ["a", "b", "s"]
    found = send(ACME, "POST", "/collections/faq/duplicates", {"min_score": -1}).text
    assert "A cat sleeps." in found
    assert not any(hidden in found for hidden in ("A cat runs.", "A cat eats."))
    mapped = send(ACME, "POST", "/collections/faq/map", {}).json()
    assert ([each["id"] for each in mapped["points"]], mapped["documents"]) == (["a", "b", "s"], 3)
    before = stored(send)
    for doc_id, metadata, code in (
        ("z", {"kind": "x"}, "unknown_document"),
        ("a", {"tenant": "zeta"}, "forbidden"),
        ("a", {"tenant": None}, "forbidden"),
    ):
        change = {"documents": [{"id": "b", "metadata": {"kind": "x"}}, {"id": doc_id, "metadata": metadata}]}
        assert send(ACME, "PATCH", "/collections/faq/documents", change).json()["code"] == code
    assert send(ACME, "POST", "/collections/faq/delete", {"ids": ["z", "n", "no"]}).json()["deleted"] == 0
    everything = {"filter": {"not": {"kind": "pet"}}}
    assert stored(send) == before
    assert send(ACME, "POST", "/collections/faq/delete", everything).json()["deleted"] == 2
    assert [each["id"] for each in stored(send)] == ["a", "n", "z"]


def test_similar_documents_of_a_write_are_visible_ones(send: Send) -> None:
    own = {"id": "new", "text": "A cat runs.", "metadata": {"tenant": "acme"}}
    body = {"documents": [own], "if_similar": {"min_score": -1, "most": 10}}
    similar = send(ACME, "POST", "/collections/faq/documents", body).json()["similar"]
    assert {each["like"] for each in similar} == SEEN[ACME]


def requests_of(name: str) -> Mapping[str, tuple[str, str, object]]:
    """A request of every route that takes a collection."""
    documents = {"documents": [{"id": "x", "text": "A cat.", "metadata": {"tenant": "zeta"}}]}
    return {
        "search": ("POST", "/search", {"query": "a cat", "collection": name}),
        "get_explain": ("GET", f"/explain?a=x&id=a&collection={name}", None),
        "explain": ("POST", "/explain", {"a": "a cat", "id": "a", "collection": name}),
        "get_difference": ("GET", f"/explain/difference?query=x&a=a&b=b&collection={name}", None),
        "difference": ("POST", "/explain/difference", {"query": "a cat", "a": "a", "b": "b", "collection": name}),
        "count": ("POST", f"/collections/{name}/count", {}),
        "documents": ("POST", f"/collections/{name}/list", {}),
        "delete_many": ("POST", f"/collections/{name}/delete", {"ids": ["a"]}),
        "change": ("PATCH", f"/collections/{name}/documents", {"documents": [{"id": "a", "metadata": {"x": 1}}]}),
        "duplicates": ("POST", f"/collections/{name}/duplicates", {"min_score": 0.5}),
        "map": ("POST", f"/collections/{name}/map", {}),
        "show": ("GET", f"/collections/{name}", None),
        "list": ("GET", f"/collections/{name}/documents", None),
        "get": ("GET", f"/collections/{name}/documents/a", None),
        "store": ("POST", f"/collections/{name}/documents", documents),
        "delete": ("DELETE", f"/collections/{name}/documents/a", None),
        "drop": ("DELETE", f"/collections/{name}", None),
        "begin": ("PUT", f"/collections/{name}/reembedding", {"model": "minilm"}),
        "step": ("POST", f"/collections/{name}/reembedding/step", None),
        "switch": ("POST", f"/collections/{name}/reembedding/switch", None),
        "drop_reembedding": ("DELETE", f"/collections/{name}/reembedding", None),
    }


ADMIN_ROUTES = {"drop", "begin", "step", "switch", "drop_reembedding"}


@pytest.mark.parametrize("key", [FAQ, ZETA])
def test_a_collection_outside_is_as_unknown_as_an_absent_one(send: Send, key: str) -> None:
    before = stored(send, "hr")
    for route in requests_of(""):
        hidden, absent = (send(key, *requests_of(name)[route]) for name in ("hr", "no"))
        expected = (403, "forbidden") if key == ZETA and route in ADMIN_ROUTES else (404, "unknown_collection")
        assert (hidden.status_code, hidden.json()["code"]) == expected, route
        texts = [re.sub(name, "NAME", answer.text) for name, answer in (("'hr'|/hr", hidden), ("'no'|/no", absent))]
        assert texts[0] == texts[1]
    assert stored(send, "hr") == before


def test_the_requests_above_cover_every_route_with_a_collection(send: Send) -> None:
    paths = send(OPS, "GET", "/openapi.json").json()["paths"]
    described = {(method.upper(), path) for path, each in paths.items() for method in each if "{name}" in path}
    tested = {
        (method, path.partition("?")[0].replace("/documents/a", "/documents/{doc_id}"))
        for method, path, _ in requests_of("{name}").values()
    }
    others = {("PUT", "/collections/{name}"), ("GET", "/v1/models/{name}")}
    assert described <= tested | others


def test_only_reached_collections_are_listed_created_and_dropped(send: Send) -> None:
    def listed(key: str) -> list[str]:
        return [each["name"] for each in send(key, "GET", "/collections").json()["collections"]]

    assert (listed(OPS), listed(FAQ), listed(ACME), listed(ZETA)) == (["faq", "hr"], ["faq"], ["faq", "hr"], ["faq"])
    assert send(FAQ, "PUT", "/collections/faq-2", {}).status_code == 201
    assert listed(FAQ) == ["faq", "faq-2"]
    assert send(FAQ, "DELETE", "/collections/faq-2").status_code == 204
    for name in ("hr", "hr-2"):
        refused = send(FAQ, "PUT", f"/collections/{name}", {})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert "it reaches faq, faq-*" in refused.json()["detail"]
    assert listed(OPS) == ["faq", "hr"]
    assert send(ACME, "GET", "/collections/faq").json()["count"] == 5, "sizes are of the whole collection"


def test_reembeddings_work_within_reached_collections(send: Send) -> None:
    assert send(FAQ, "PUT", "/collections/faq/reembedding", {"model": "minilm"}).status_code == 200
    assert send(FAQ, "POST", "/collections/faq/reembedding/step").json()["left"] == 0
    assert send(FAQ, "POST", "/collections/faq/reembedding/switch").status_code == 200
    found = send(ACME, "POST", "/search", {"query": "a cat", "collection": "faq"}).json()
    assert {hit["id"] for hit in found["results"][0]["hits"]} == SEEN[ACME]


def test_routes_without_a_collection_need_the_scope_only(send: Send) -> None:
    for key in SEEN:
        assert send(key, "GET", "/models").status_code == 200
        assert send(key, "POST", "/similarity", {"pairs": [{"a": "x", "b": "y"}]}).status_code == 200
        assert send(key, "POST", "/v1/embeddings", {"input": "x", "model": "minilm"}).status_code == 200
        assert send(key, "POST", "/rerank", {"query": "x", "documents": ["y"]}).status_code == 200
        metrics = send(key, "GET", "/metrics")
        assert metrics.status_code == (200 if key == OPS else 403)


def test_a_hangup_reads_the_keys_again(limited_service: Service, send: Send, key_file: Path) -> None:
    before, new = key_file.read_text(), "new:read:" + hashlib.sha256(b"new").hexdigest()
    try:
        key_file.write_text(f"{entry(ZETA)}\n{new}\n")
        hang_up(limited_service, "read the keys again; added: new; removed: acme, faq; changed: none")
        assert [status(send, key) for key in (OPS, ZETA, "new", ACME, FAQ)] == [200] * 3 + [401] * 2
        key_file.write_text(f"{entry(ACME)}\nnonsense\n")
        hang_up(limited_service, "the keys are not changed: SEMBLANCE_API_KEYS_FILE: line 2")
        assert [status(send, key) for key in (ZETA, "new", ACME)] == [200, 200, 401]
    finally:
        key_file.write_text(before)
        hang_up(limited_service, "added: acme, faq; removed: new")
    assert status(send, ACME) == 200


def status(send: Send, key: str) -> int:
    return send(key, "GET", "/models").status_code


def hang_up(service: Service, logged: str) -> None:
    """Send SIGHUP, and wait until the log has a line."""
    known = len(service.log.read_text())
    service.process.send_signal(signal.SIGHUP)
    until(lambda: logged in service.log.read_text()[known:], logged)
