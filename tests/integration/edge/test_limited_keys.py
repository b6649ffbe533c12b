"""Keys with limits at a running service: every route that takes a collection, and keys read again on SIGHUP."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import NDJSON, code_of, require_no_internal_errors
from tests.support.running_service import Service, running_process
from tests.support.waiting import until

ENTRIES = {
    "ops": "read+write+admin",
    "faq": "read+write+admin:collections=faq+faq-*",
    "acme": "read+write:filter=tenant=acme",
    "zeta": "read+write:collections=faq:filter=tenant=zeta",
    "omega": "read+write:filter=tenant=omega:id_prefix=omega-",
}
OPS, FAQ, ACME, ZETA, OMEGA = ENTRIES


def entry(name: str) -> str:
    return f"{name}:{ENTRIES[name]}:{hashlib.sha256(name.encode()).hexdigest()}"


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text("".join(f"{entry(name)}\n" for name in (FAQ, ACME, ZETA, OMEGA)))
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
SHARED_WITH = {"tenant": ["omega", "zeta"]}
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
def test_searches_find_exactly_the_visible_documents(send: Send, mode: str) -> None:
    for measure in ("cosine", "rcmd_words"):
        body = {"query": "a cat or a dog", "collection": "faq", "k": 10, "mode": mode, "measure": measure}
        for key, seen in SEEN.items():
            assert ids(send(key, "POST", "/search", body | {"explain": True, "highlight": {}})) == seen, key


def ids(answer: httpx2.Response) -> set[str]:
    """Ids of the hits of a search."""
    assert answer.status_code == 200, answer.text
    [result] = answer.json()["results"]
    return {hit["id"] for hit in result["hits"]}


def test_a_cache_never_answers_across_keys(send: Send) -> None:
    text, lookup = "How do I turn on dark mode?", "/caches/faq/lookup"
    for key in (ACME, ZETA, OMEGA):
        sent = send(key, "POST", "/caches/faq/store", {"text": text, "answer": key, "ttl_s": 1000})
        assert sent.status_code == 200, sent.text
    for key in (ACME, ZETA, OMEGA):
        found = send(key, "POST", lookup, {"text": text}).json()
        assert (found["hit"]["answer"], found["hit"]["metadata"]) == (key, {"tenant": key})
    near = {"text": "How do I turn off dark mode?"}
    assert [each["text"] for each in send(ACME, "POST", lookup, near).json()["refused"]] == [text]
    sent = send(ACME, "POST", "/caches/faq/store", {"text": text, "answer": 1, "metadata": {"tenant": "zeta"}})
    assert (sent.status_code, sent.json()["errors"][0]["pointer"]) == (403, "")
    assert send(ZETA, "POST", "/caches/hr/lookup", near).status_code == 404


def test_expired_answers_of_other_keys_are_deleted(send: Send) -> None:
    entry = send(ACME, "POST", "/caches/faq/store", {"text": "A cat?", "answer": 1, "ttl_s": 1}).json()
    until(lambda: send(ACME, "POST", "/caches/faq/lookup", {"text": "A cat?"}).json()["hit"] is None)
    assert entry["id"] in {each["id"] for each in stored(send)}
    assert send(OMEGA, "POST", "/caches/faq/store", {"text": "A dog?", "answer": 2}).status_code == 200
    assert entry["id"] not in {each["id"] for each in stored(send)}
    assert {each["id"] for each in stored(send)} >= set("abszn")


def test_no_route_reads_a_hidden_document(send: Send) -> None:
    """tests/service/replication/test_limited_access.py compares the answers with those of the visible documents."""
    faq, at = {"collection": "faq"}, "/collections/faq"
    for method, path, body in (
        ("POST", "/search", {"query": "a cat", **faq, "filter": {"or": [{"kind": "secret"}, {"tenant": "zeta"}]}}),
        ("POST", f"{at}/count", {"facets": [{"field": "kind"}, {"field": "tenant"}]}),
        ("POST", f"{at}/list", {"sort": {"field": "kind"}}),
        ("POST", f"{at}/duplicates", {"min_score": -1}),
        ("POST", f"{at}/map", {}),
        ("POST", "/suggest", {"query": "sec", **faq, "field": "kind"}),
        ("GET", f"{at}/documents", None),
    ):
        answer = send(ACME, method, path, body)
        assert answer.status_code == 200, answer.text
        assert [hidden for hidden in ("A cat runs.", "A cat eats.", "secret") if hidden in answer.text] == [], path
    for doc_id, code in (("s", None), ("z", "unknown_document"), ("n", "unknown_document")):
        for method, path, asked in (
            ("GET", f"{at}/documents/{doc_id}", None),
            ("GET", f"/explain?a=cat&id={doc_id}&collection=faq", None),
            ("POST", "/explain", {"a": "a cat", "id": doc_id, **faq}),
            ("POST", "/search", {"like": doc_id, **faq}),
            ("POST", "/explain/difference", {"query": "a cat", "a": "a", "b": doc_id, **faq, "mode": "hybrid"}),
        ):
            assert send(ACME, method, path, asked).json().get("code") == code, path
    assert [send(key, "POST", f"{at}/count", {}).json()["count"] for key in SEEN] == [5, 5, 3, 2]
    words = [send(key, "POST", "/suggest", {"query": "a cat r", **faq}).json()["suggestions"] for key in (OPS, ACME)]
    assert [[each["text"] for each in own] for own in words] == [["a cat runs"], []]
    unknown = {"query": "a cat", **faq, "filter": {"nosuch": 1}}
    assert [len(send(key, "POST", "/search", unknown).json()["warnings"]) for key in (OPS, ACME)] == [1, 0]


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
        assert code_of(answer) == (403, "forbidden")
        lines = "\n".join(map(json.dumps, [fine, document])).encode()
        streamed = send(ACME, "POST", "/collections/faq/documents", lines, **NDJSON)
        batch, end = map(json.loads, streamed.text.splitlines())
        assert [(each["line"], each["code"]) for each in batch["errors"]] == [(2, "forbidden")]
        assert end["done"] is True
        assert send(OPS, "DELETE", "/collections/faq/documents/fine").status_code == 200
        assert stored(send) == before


def test_visible_documents_are_stored_changed_and_deleted(send: Send) -> None:
    address, own = "/collections/faq/documents", {"text": "A bird.", "metadata": {"tenant": "acme"}}
    body = {"documents": [own | {"id": "c"}], "if_similar": {"min_score": -1, "most": 10}}
    assert {each["like"] for each in send(ACME, "POST", address, body).json()["similar"]} == SEEN[ACME]
    streamed = send(ACME, "POST", address, json.dumps(own | {"id": "d"}).encode(), **NDJSON)
    assert json.loads(streamed.text.splitlines()[-1])["done"] is True
    before = stored(send)
    for doc_id, metadata, code in (
        ("z", {"kind": "x"}, "unknown_document"),
        ("a", {"tenant": "zeta"}, "forbidden"),
        ("a", {"tenant": None}, "forbidden"),
    ):
        change = {"documents": [{"id": "b", "metadata": {"kind": "x"}}, {"id": doc_id, "metadata": metadata}]}
        assert send(ACME, "PATCH", address, change).json()["code"] == code
    assert send(ACME, "POST", "/collections/faq/delete", {"ids": ["z", "n", "no"]}).json()["deleted"] == 0
    assert stored(send) == before
    for doc_id, status in (("c", 200), ("s", 403), ("z", 404), ("n", 404), ("c", 404)):
        assert send(ACME, "DELETE", f"{address}/{doc_id}").status_code == status
    where = {"not": {"kind": "pet"}}
    assert code_of(send(ACME, "POST", "/collections/faq/delete", {"filter": where})) == (403, "forbidden"), (
        "s is shared"
    )
    alone = {"and": [where, {"not": {"tenant": "zeta"}}]}
    assert send(ACME, "POST", "/collections/faq/delete", {"filter": alone}).json()["deleted"] == 2
    assert [each["id"] for each in stored(send)] == ["a", "n", "s", "z"]


def requests_of(name: str) -> Mapping[str, tuple[str, str, object]]:
    """A request of every route that takes a collection."""
    documents = {"documents": [{"id": "x", "text": "A cat.", "metadata": {"tenant": "zeta"}}]}
    return {
        "search": ("POST", "/search", {"query": "a cat", "collection": name}),
        "same": ("POST", "/same", {"text": "a cat", "collection": name}),
        "look_up": ("POST", f"/caches/{name}/lookup", {"text": "a cat"}),
        "store_answer": ("POST", f"/caches/{name}/store", {"text": "a cat", "answer": 1}),
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
        "glossary": ("GET", f"/collections/{name}/glossary", None),
        "set_glossary": ("PUT", f"/collections/{name}/glossary", {"groups": []}),
        "begin": ("PUT", f"/collections/{name}/reembedding", {"model": "minilm"}),
        "step": ("POST", f"/collections/{name}/reembedding/step", None),
        "switch": ("POST", f"/collections/{name}/reembedding/switch", None),
        "drop_reembedding": ("DELETE", f"/collections/{name}/reembedding", None),
    }


ADMIN_ROUTES = {"drop", "set_glossary", "begin", "step", "switch", "drop_reembedding"}


@pytest.mark.parametrize("key", [FAQ, ZETA])
def test_a_collection_outside_is_as_unknown_as_an_absent_one(send: Send, key: str) -> None:
    before = stored(send, "hr")
    for route in requests_of(""):
        hidden, absent = (send(key, *requests_of(name)[route]) for name in ("hr", "no"))
        expected = (403, "forbidden") if key == ZETA and route in ADMIN_ROUTES else (404, "unknown_collection")
        assert code_of(hidden) == expected, route
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
    others = {(method, "/aliases/{name}") for method in ("PUT", "DELETE")}
    others |= {("PUT", "/collections/{name}"), ("GET", "/v1/models/{name}")}
    assert described <= tested | others


def test_every_route_takes_an_alias_that_the_key_reaches(send: Send) -> None:
    assert send(OPS, "PUT", "/aliases/faq-now", {"collection": "hr"}).status_code == 201
    assert send(OPS, "PUT", "/aliases/now", {"collection": "faq"}).status_code == 201
    for route in requests_of(""):
        codes = [send(FAQ, *requests_of(name)[route]) for name in ("faq-now", "now")]
        found, hidden = ("" if each.status_code == 204 else each.json().get("code", "") for each in codes)
        assert found == {"drop": "alias_conflict"}.get(route, found), route
        assert (found in ("unknown_collection", "forbidden"), hidden) == (False, "unknown_collection"), route
    assert ids(send(FAQ, "POST", "/search", {"query": "a dog", "collection": "faq-now"})) >= set("bs")
    assert ids(send(ACME, "POST", "/search", {"query": "a cat", "collection": "now"})) == SEEN[ACME]
    assert [each["name"] for each in send(FAQ, "GET", "/aliases").json()["aliases"]] == ["faq-now"]
    assert code_of(send(FAQ, "PUT", "/aliases/faq-now", {"collection": "hr"})) == (404, "unknown_collection")
    assert code_of(send(FAQ, "DELETE", "/aliases/now")) == (403, "forbidden")
    assert send(FAQ, "DELETE", "/aliases/faq-now").status_code == 204


def test_only_reached_collections_are_listed_created_and_dropped(send: Send) -> None:
    def listed(key: str) -> list[str]:
        return [each["name"] for each in send(key, "GET", "/collections").json()["collections"]]

    assert (listed(OPS), listed(FAQ), listed(ACME), listed(ZETA)) == (["faq", "hr"], ["faq"], ["faq", "hr"], ["faq"])
    assert send(FAQ, "PUT", "/collections/faq-2", {}).status_code == 201
    assert listed(FAQ) == ["faq", "faq-2"]
    assert send(FAQ, "DELETE", "/collections/faq-2").status_code == 204
    for name in ("hr", "hr-2"):
        refused = send(FAQ, "PUT", f"/collections/{name}", {})
        assert code_of(refused) == (403, "forbidden")
        assert "it reaches faq, faq-*" in refused.json()["detail"]
    assert listed(OPS) == ["faq", "hr"]
    assert send(ACME, "GET", "/collections/faq").json()["count"] == 5, "sizes are of the whole collection"


def test_reembeddings_work_within_reached_collections(send: Send) -> None:
    assert send(FAQ, "PUT", "/collections/faq/reembedding", {"model": "minilm"}).status_code == 200
    assert send(FAQ, "POST", "/collections/faq/reembedding/step").json()["left"] == 0
    assert send(FAQ, "POST", "/collections/faq/reembedding/switch").status_code == 200
    assert ids(send(ACME, "POST", "/search", {"query": "a cat", "collection": "faq"})) == SEEN[ACME]


def test_routes_without_a_collection_need_the_scope_only(send: Send) -> None:
    for key in SEEN:
        assert send(key, "GET", "/models").status_code == 200
        assert send(key, "POST", "/similarity", {"pairs": [{"a": "x", "b": "y"}]}).status_code == 200
        assert send(key, "POST", "/v1/embeddings", {"input": "x", "model": "minilm"}).status_code == 200
        assert send(key, "POST", "/v2/embed", {"texts": ["x"]}).status_code == 200
        assert send(key, "POST", "/rerank", {"query": "x", "documents": ["y"]}).status_code == 200
        metrics = send(key, "GET", "/metrics")
        assert metrics.status_code == (200 if key == OPS else 403)


def test_foreign_rows_of_an_upload_fail_alone_and_alike(send: Send) -> None:
    rows = [
        {"id": "omega-1", "text": "A cat.", "metadata": {"tenant": "omega"}},
        {"id": "z", "text": "A cat.", "metadata": {"tenant": "omega"}},  # the id of a document of zeta
        {"id": "free", "text": "A cat.", "metadata": {"tenant": "omega"}},  # no document has this id
        {"id": "omega-2", "text": "A cat.", "metadata": SHARED_WITH},
        {"id": "omega-3", "text": "A cat.", "metadata": {}},
        {"id": "omega-4", "text": "A dog.", "metadata": {"tenant": "omega"}},
        {"id": "omega-4", "text": "A fish.", "metadata": {"tenant": "zeta"}},  # it is refused, and replaces none
    ]
    at, ndjson = "/collections/faq/documents", {"content-type": "application/x-ndjson"}
    answer = send(OMEGA, "POST", at, "\n".join(map(json.dumps, rows)).encode(), **ndjson)
    batch, _ = map(json.loads, answer.text.splitlines())
    assert (batch["upserted"], [each["line"] for each in batch["errors"]]) == (2, [2, 3, 4, 5, 7])
    assert len({(each["code"], each["detail"]) for each in batch["errors"]}) == 1, "they do not tell which ids exist"
    refused = [send(OMEGA, "POST", at, {"documents": [each]}) for each in rows[1:5]]
    assert {(each.status_code, each.json()["code"]) for each in refused} == {(403, "forbidden")}
    assert len({each.json()["detail"] for each in refused}) == 1
    assert {each["id"] for each in stored(send)} == {*"abszn", "omega-1", "omega-4"}
    assert send(OMEGA, "GET", f"{at}/omega-4").json()["text"] == "A dog."
    deletions = [send(OMEGA, "DELETE", f"{at}/{each}") for each in ("z", "free")]
    assert [each.status_code for each in deletions] == [404, 404]


def test_a_file_of_keys_that_hangs_stops_no_request(limited_service: Service, send: Send, key_file: Path) -> None:
    before = key_file.read_text()
    key_file.unlink()
    os.mkfifo(key_file)  # reading it waits for a writer
    try:
        for _ in range(3):
            limited_service.process.send_signal(signal.SIGHUP)
            assert send(OPS, "GET", "/live").status_code == 200
            assert status(send, ACME) == 200
    finally:
        with key_file.open("w") as pipe:
            key_file.unlink()
            key_file.write_text(before)
            pipe.write(before)
        hang_up(limited_service, "removed: none; changed: none")


def test_a_hangup_reads_the_keys_again(limited_service: Service, send: Send, key_file: Path) -> None:
    before, new = key_file.read_text(), "new:read:" + hashlib.sha256(b"new").hexdigest()
    try:
        key_file.write_text(f"{entry(ZETA)}\n{new}\n")
        hang_up(limited_service, "read the keys again; added: new; removed: acme, faq, omega; changed: none")
        assert [status(send, key) for key in (OPS, ZETA, "new", ACME, FAQ)] == [200] * 3 + [401] * 2
        key_file.write_text(f"{entry(ACME)}\nnonsense\n")
        hang_up(limited_service, "the keys are not changed: SEMBLANCE_API_KEYS_FILE: line 2")
        assert [status(send, key) for key in (ZETA, "new", ACME)] == [200, 200, 401]
    finally:
        key_file.write_text(before)
        hang_up(limited_service, "added: acme, faq, omega; removed: new")
    assert status(send, ACME) == 200


def status(send: Send, key: str) -> int:
    return send(key, "GET", "/models").status_code


def hang_up(service: Service, logged: str) -> None:
    """Send SIGHUP, and wait until the log has a line."""
    known = len(service.log.read_text())
    service.process.send_signal(signal.SIGHUP)
    until(lambda: logged in service.log.read_text()[known:], logged)
