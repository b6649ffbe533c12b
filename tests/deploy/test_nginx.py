"""nginx before two replicas: retries, limits, error format and logs."""

from __future__ import annotations

import json
import re
import shutil
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage

import httpx2
import pytest

from semblance.service.api.edge.middleware import SECURITY_HEADERS
from semblance.service.api.error_shapes import ErrorAnswer, TeiErrorAnswer
from semblance.service.api.errors import ProblemDetails
from tests.conftest import missing
from tests.deploy.replicas import Replica
from tests.integration.raw_http import head, read_answer
from tests.support.servers.nginx_server import NginxServer

READS = [
    ("GET", "/collections/a/documents/1"),
    ("GET", "/explain?a=x&b=y"),
    ("POST", "/similarity"),
    ("POST", "/search"),
    ("POST", "/search?pretty=1"),
    ("POST", "/explain"),
    ("POST", "/explain/difference"),
    ("POST", "/collections/a/count"),
    ("POST", "/collections/a/list"),
    ("POST", "/collections/a/duplicates"),
    ("POST", "/collections/a/map"),
    ("POST", "/v1/embeddings"),
    ("POST", "/rerank"),
    ("POST", "/v2/rerank"),
    ("POST", "/score"),
    ("POST", "/pooling"),
    ("POST", "/"),
    ("POST", "/embed_all"),
    ("POST", "/api/embed"),
]
WRITES = [
    ("POST", "/collections/a/documents"),
    ("POST", "/collections/a/delete"),
    ("PATCH", "/collections/a/documents"),
    ("PUT", "/collections/a"),
    ("PUT", "/collections/a/reembedding"),
    ("POST", "/collections/a/reembedding/step"),
    ("DELETE", "/collections/a/documents/1"),
    ("POST", "/search/../collections/a/documents"),  # an unusual spelling counts as a write
    ("POST", "/%73earch"),
    ("POST", "/searches"),
]
LINES = ("POST", "/collections/a/documents", "application/x-ndjson; charset=utf-8")
WRITES_BY_TYPE = [(*write, "application/json") for write in WRITES] + [LINES]
MOST_CONNECTIONS = 256  # of an address: limit_conn in nginx.conf
MANY = 12  # requests, enough for each replica to get some
ROUNDS = 4  # of failures, to vary the replica that nginx tries first


@pytest.fixture
def replicas() -> Iterator[tuple[Replica, Replica]]:
    """Two running replicas."""
    both = Replica(), Replica()
    yield both
    for replica in both:
        replica.die()


@pytest.fixture
def nginx(replicas: tuple[Replica, Replica]) -> Iterator[NginxServer]:
    """nginx before both replicas."""
    if shutil.which("nginx") is None:
        missing("nginx")
    server = NginxServer([f"127.0.0.1:{replica.server_port}" for replica in replicas])
    server.start()
    yield server
    server.remove()


@pytest.fixture
def http(nginx: NginxServer) -> Iterator[httpx2.Client]:
    """A client of nginx."""
    with httpx2.Client(base_url=nginx.url, timeout=20) as client:
        yield client


@dataclass(frozen=True)
class Answer:
    """Response of nginx."""

    status: int
    headers: HTTPMessage
    text: str


def send(nginx: NginxServer, method: str, path: str, kind: str = "application/json") -> Answer:
    """Send a request with a small body for POST and PUT; the path is not normalized."""
    body = b"{}\n" if method in ("POST", "PUT", "PATCH") else None
    connection = HTTPConnection("127.0.0.1", nginx.port, timeout=20)
    connection.request(method, path, body, {"content-type": kind} if body else {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return Answer(answer.status, answer.headers, text)


def received(replicas: tuple[Replica, Replica]) -> Counter[str]:
    """Number of times each request reached a replica."""
    return Counter(line for replica in replicas for line in replica.received)


@pytest.mark.parametrize(("method", "path"), READS)
def test_a_read_fails_over_from_a_dead_replica(
    method: str, path: str, nginx: NginxServer, replicas: tuple[Replica, Replica]
) -> None:
    dead, alive = replicas
    dead.die()
    answers = [send(nginx, method, path) for _ in range(MANY)]
    assert [(answer.status, answer.text) for answer in answers] == [(200, str(alive.server_port))] * MANY


@pytest.mark.parametrize("failure", [None, 500, 502, 503])
@pytest.mark.parametrize(("method", "path"), READS)
def test_a_read_fails_over_from_a_failing_replica(
    method: str, path: str, failure: int | None, nginx: NginxServer, replicas: tuple[Replica, Replica]
) -> None:
    failing, alive = replicas
    failing.status = failure
    answers = [send(nginx, method, path) for _ in range(MANY)]
    assert [(answer.status, answer.text) for answer in answers] == [(200, str(alive.server_port))] * MANY
    assert failing.received, "the failing replica must have been tried"


def test_a_read_returns_to_a_replica_that_has_recovered(nginx: NginxServer, replicas: tuple[Replica, Replica]) -> None:
    for _ in range(ROUNDS):
        for refusing, back in (replicas, reversed(replicas)):
            refusing.status = 503
            answers = [send(nginx, "POST", "/search") for _ in range(MANY)]
            assert [(answer.status, answer.text) for answer in answers] == [(200, str(back.server_port))] * MANY
            refusing.status = 200


def test_a_read_refused_by_all_gets_503_the_next_succeeds(
    nginx: NginxServer, replicas: tuple[Replica, Replica]
) -> None:
    for replica in replicas:
        replica.status = 503
    refusals = [send(nginx, "POST", "/search") for _ in range(MANY)]
    assert [(refusal.status, refusal.text in map(str, ports(replicas))) for refusal in refusals] == [(503, True)] * MANY
    for replica in replicas:
        replica.status = 200
    assert [send(nginx, "POST", "/search").status for _ in range(MANY)] == [200] * MANY


def ports(replicas: tuple[Replica, Replica]) -> list[int]:
    """Ports of both replicas."""
    return [replica.server_port for replica in replicas]


@pytest.mark.parametrize(("method", "path", "kind"), WRITES_BY_TYPE)
def test_a_write_cut_off_is_not_retried(
    method: str, path: str, kind: str, nginx: NginxServer, replicas: tuple[Replica, Replica]
) -> None:
    for replica in replicas:
        replica.status = None
    assert [send(nginx, method, path, kind).status for _ in range(MANY)] == [502] * MANY
    assert received(replicas) == {f"{method} {path}": MANY}


@pytest.mark.parametrize("failure", [500, 503])
@pytest.mark.parametrize(("method", "path", "kind"), WRITES_BY_TYPE)
def test_a_refused_write_is_not_retried(
    method: str, path: str, kind: str, failure: int, nginx: NginxServer, replicas: tuple[Replica, Replica]
) -> None:
    for replica in replicas:
        replica.status = failure
    assert [send(nginx, method, path, kind).status for _ in range(MANY)] == [failure] * MANY
    assert received(replicas) == {f"{method} {path}": MANY}


@pytest.mark.parametrize(("method", "path", "kind"), WRITES_BY_TYPE)
def test_a_write_to_an_unreachable_replica_reaches_the_other_once(
    method: str, path: str, kind: str, nginx: NginxServer, replicas: tuple[Replica, Replica]
) -> None:
    replicas[0].die()
    assert [send(nginx, method, path, kind).status for _ in range(MANY)] == [200] * MANY
    assert received(replicas) == {f"{method} {path}": MANY}
    assert not replicas[0].received


def test_paths_are_forwarded_unchanged(nginx: NginxServer, replicas: tuple[Replica, Replica]) -> None:
    paths = [
        "/collections/a/documents/x%2Fy%20%C3%A9",
        "/collections/a/documents/a//b?cursor=%2B%26",
        "/explain?a=&b=%00",
    ]
    assert [send(nginx, "GET", path).status for path in paths] == [200] * 3
    assert received(replicas) == dict.fromkeys((f"GET {path}" for path in paths), 1)


@pytest.mark.parametrize("path", ["/metrics", "/metrics?x=1", "//metrics", "/%6detrics", "/x/../metrics"])
def test_metrics_are_not_shown_outside(path: str, nginx: NginxServer, replicas: tuple[Replica, Replica]) -> None:
    assert send(nginx, "GET", path).status == 404
    assert not received(replicas)


def test_each_key_has_its_own_rate_limit(nginx: NginxServer, http: httpx2.Client) -> None:
    def burst(key: str, times: int) -> list[httpx2.Response]:
        with ThreadPoolExecutor(8) as pool, httpx2.Client(base_url=nginx.url, timeout=20) as many:
            return list(pool.map(lambda _: many.get("/models", headers={"authorization": key}), range(times)))

    started = time.monotonic()
    answers = burst("Bearer one", 800)
    allowed = 200 + 100 * (time.monotonic() - started) + 1
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) == {200, 429}
    assert 200 <= statuses[200] <= allowed
    refusal = next(answer for answer in answers if answer.status_code == 429)
    assert refusal.headers["content-type"] == "application/problem+json"
    assert refusal.headers["retry-after"] == "1"
    assert (refusal.json()["status"], refusal.json()["code"]) == (429, "rate_limited")
    other = {"authorization": "Bearer two"}
    assert [http.get("/models", headers=other).status_code for _ in range(20)] == [200] * 20
    assert http.get("/models").status_code == 200, "an address without a key has its own limit too"


def test_invented_keys_share_the_limit_of_their_address(nginx: NginxServer) -> None:
    requests = [head("GET", "/models", f"authorization: Bearer invented-{number}") for number in range(900)]
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
        connection.sendall(b"".join([*requests, head("GET", "/models", "connection: close")]))
        answers = b"".join(iter(lambda: connection.recv(65_536), b""))
    statuses = Counter(re.findall(rb"HTTP/1.1 (\d+)", answers))
    assert set(statuses) == {b"200", b"429"}
    assert statuses[b"200"] <= 200 + 200 * (time.monotonic() - started) + 1


def test_one_address_may_not_hold_all_connections(nginx: NginxServer) -> None:
    with ExitStack() as held:
        for number in range(MOST_CONNECTIONS):
            waiting = held.enter_context(socket.create_connection(("127.0.0.1", nginx.port)))
            key = f"authorization: Bearer key-{number}"
            waiting.sendall(head("POST", "/search", key, length=10))  # its body never comes
            time.sleep(0.006)  # slower than the rate limit
        refusal = send(nginx, "GET", "/models")
        assert (refusal.status, json.loads(refusal.text)["code"]) == (429, "rate_limited")
    deadline = time.monotonic() + 10
    while send(nginx, "GET", "/models").status != 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert send(nginx, "GET", "/models").status == 200


OWN_ANSWERS = {
    "no HTTP": (b"\x16\x03\x01 a greeting in TLS\r\n\r\n", 400, "malformed_http"),
    "no Host": (b"GET /live HTTP/1.1\r\n\r\n", 400, "malformed_http"),
    "two Hosts": (head("GET", "/live", "host: other"), 400, "malformed_http"),
    "another version": (b"GET /live HTTP/2.0\r\nhost: x\r\n\r\n", 400, "malformed_http"),
    "an unknown coding": (head("POST", "/search", "transfer-encoding: odd"), 400, "malformed_http"),
    "a negative length": (head("POST", "/search", "content-length: -1"), 400, "malformed_http"),
    "metrics": (head("GET", "/metrics"), 404, "unknown_route"),
    "an internal path": (head("GET", "/=read"), 404, "unknown_route"),
    "TRACE": (head("TRACE", "/live"), 405, "method_not_allowed"),
    "a large body": (head("POST", "/search", length=9_000_000), 413, "body_too_large"),
    "a long URL": (head("GET", "/explain?a=" + 33_000 * "y"), 431, "headers_too_large"),
    "a long header": (head("GET", "/live", "x: " + 33_000 * "y"), 431, "headers_too_large"),
    "a large body under /v1/": (head("POST", "/v1/embeddings", length=9_000_000), 413, "body_too_large"),
    "a large body of documents": (head("POST", "/rerank", length=9_000_000), 413, "body_too_large"),
    "a large body of documents under /v2/": (head("POST", "/v2/rerank", length=9_000_000), 413, "body_too_large"),
    "a large body for TEI": (head("POST", "/embed_all", length=9_000_000), 413, "body_too_large"),
    "a long header under /v1/": (head("GET", "/v1/x", "x: " + 33_000 * "y"), 431, "headers_too_large"),
}


@pytest.mark.parametrize(("request_", "status", "code"), OWN_ANSWERS.values(), ids=OWN_ANSWERS)
def test_own_answers_of_nginx_resemble_those_of_the_service(
    request_: bytes, status: int, code: str, nginx: NginxServer
) -> None:
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
        connection.sendall(request_)
        answer = read_answer(connection)
    assert answer.status == status
    if b"/embed_all" in request_:
        assert answer.headers["content-type"] == "application/json"
        assert TeiErrorAnswer.model_validate_json(answer.body, strict=True).code == code
    elif re.search(rb" /(v[12]/|rerank)", request_):
        assert answer.headers["content-type"] == "application/json"
        refusal = ErrorAnswer.model_validate_json(answer.body, strict=True)
        assert (refusal.error.code, refusal.error.type) == (code, "invalid_request_error")
        assert (refusal.code, refusal.message) == (code, refusal.detail)
    else:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = ProblemDetails.model_validate_json(answer.body, strict=True)
        assert (problem.code, problem.status) == (code, status)
    assert {name: answer.headers.get_all(name) for name in SECURITY_HEADERS} == {
        name: [value] for name, value in SECURITY_HEADERS.items()
    }
    deadline = time.monotonic() + 10  # nginx reads on for a while when it refuses a body
    while not nginx.access_log and time.monotonic() < deadline:
        time.sleep(0.05)
    [logged] = map(json.loads, nginx.access_log.splitlines())
    assert logged["request_id"] == answer.headers["x-request-id"]
    assert len(logged["request_id"]) == 32
    assert logged["status"] == str(status)
    assert not logged["method"] or request_.startswith(logged["method"].encode())


def test_a_request_without_host_reaches_replicas_with_one(nginx: NginxServer) -> None:
    """As HTTP/1.0 allows; the replicas refuse HTTP/1.1 without Host."""
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
        connection.sendall(b"GET /live HTTP/1.0\r\n\r\n")
        assert read_answer(connection).status == 200


def test_a_body_over_the_limit_gets_a_problem_document(http: httpx2.Client, replicas: tuple[Replica, Replica]) -> None:
    large = b"x" * (8 * 1024 * 1024 + 1)
    assert http.post("/search", content=large[:-1]).status_code == 200
    refusal = http.post("/search", content=large)
    assert (refusal.status_code, refusal.json()["code"]) == (413, "body_too_large")
    assert "retry-after" not in refusal.headers
    openai = http.post("/v1/embeddings", content=large)
    assert (openai.status_code, openai.json()["error"]["code"]) == (413, "body_too_large")
    assert http.put("/collections/a", content=large).status_code == 413
    documents, lines = "/collections/a/documents", {"content-type": "application/x-ndjson"}
    assert http.post(documents, content=large).status_code == 413
    assert http.post(documents, content=large, headers=lines).text.strip() == str(len(large))
    assert received(replicas) == {"POST /search": 1, f"POST {documents}": 1}


def test_without_replicas_requests_get_502_as_a_problem_document(
    nginx: NginxServer, replicas: tuple[Replica, Replica]
) -> None:
    for replica in replicas:
        replica.die()
    for method, path in [("GET", "/models"), ("POST", "/search"), *WRITES]:
        refusal = send(nginx, method, path)
        assert (refusal.status, json.loads(refusal.text)["code"]) == (502, "bad_gateway"), (method, path)
        assert refusal.headers["retry-after"] == "1"


def test_ndjson_is_streamed_in_both_directions(nginx: NginxServer) -> None:
    head = "POST /collections/a/documents HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\n"
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=10) as connection:
        connection.sendall(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        answered = b""
        for number in range(1, 4):  # each line waits for the answer to the one before
            connection.sendall(b"3\r\n{}\n\r\n")
            while b"\n%d\n" % (3 * number) not in answered:
                answered += connection.recv(4096) or pytest.fail(f"the connection ended: {answered!r}")
        connection.sendall(b"0\r\n\r\n")
        while not answered.endswith(b"0\r\n\r\n"):
            answered += connection.recv(4096) or pytest.fail(f"the connection ended: {answered!r}")


def test_logs_hold_neither_texts_nor_keys(
    nginx: NginxServer, http: httpx2.Client, replicas: tuple[Replica, Replica]
) -> None:
    headers = {"authorization": "Bearer a-private-key"}
    path = "/explain?a=a-private-text"

    def send_all() -> list[int]:
        answers = [http.get(path, headers=headers), http.post(path, headers=headers, content=b"a-private-text" * 99999)]
        answers += [http.delete("/collections/a/documents/1?z=a-private-text", headers=headers)]
        return [answer.status_code for answer in answers]

    assert send_all() == [200, 200, 200]
    assert http.post(path, headers=headers, content=b"a-private-text" * 999999).status_code == 413
    replicas[0].status = 503
    assert send_all()[:2] == [200, 200]
    replicas[0].status = replicas[1].status = None
    assert send_all() == [502, 502, 502]
    for replica in replicas:
        replica.die()
    assert send_all() == [502, 502, 502]
    with socket.create_connection(("127.0.0.1", nginx.port)) as connection:
        connection.sendall(b"GET /explain?a=a-private-text NONSENSE\r\nauthorization: a-private-key\r\n\r\n")
        assert b" 400 " in connection.recv(4096)
    with ThreadPoolExecutor(8) as pool:
        assert 429 in pool.map(lambda _: http.get(path, headers=headers).status_code, range(600))
    nginx.stop()
    assert b"a-private-text" not in nginx.all_output
    assert b"a-private-key" not in nginx.all_output
    first = json.loads(nginx.access_log.splitlines()[0])
    assert (first["method"], first["path"], first["status"]) == ("GET", "/explain", "200")
    assert first["replica"] in [f"127.0.0.1:{port}" for port in ports(replicas)]
