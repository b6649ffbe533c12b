"""nginx before two replicas: retries, limits, error format and logs."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage
from typing import TypeAlias

import httpx2
import pytest

from semblance.service.api.edge.request_log import SECURITY_HEADERS
from semblance.service.api.error_shapes import ErrorAnswer, OllamaErrorAnswer, TeiErrorAnswer
from semblance.service.api.errors import ProblemDetails
from tests.conftest import missing
from tests.deploy.replicas import Replica
from tests.integration.raw_http import head, open_connection, read_answer, read_until
from tests.support.servers.nginx_server import NginxServer
from tests.support.waiting import CEILING_S, until

LONG_READ = ("POST", "/collections/a/duplicates")
READS = [
    *(("GET", path) for path in ("/aliases", "/collections/a/documents/1", "/explain?a=x&b=y")),
    *(
        ("POST", path)
        for path in (
            "/similarity",
            "/search",
            "/search?a=b",
            "/suggest",
            "/prune",
            "/same",
            "/explain",
            "/explain/difference",
        )
    ),
    *(("POST", f"/collections/a/{path}") for path in ("count", "list", "map")),
    ("POST", "/caches/a/lookup"),
    *(("POST", path) for path in ("/v1/embeddings", "/rerank", "/v2/rerank", "/score", "/pooling", "/", "/embed_all")),
    *(("POST", f"/api/{path}") for path in ("embed", "embeddings", "show")),
    *(("POST", path) for path in ("/embeddings", "/search/", "/openai/deployments/a/embeddings?api-version=1")),
    ("POST", "/v1/embed"),
    ("POST", "/v2/embed"),
    ("POST", "/v1/tokenize"),
    LONG_READ,
    ("POST", "/files"),
]
CHANGE, WRITE = ("PUT", "/collections/a", "application/json"), ("POST", "/collections/a/documents", "application/json")
LINES = ("POST", "/collections/a/documents", "application/x-ndjson; charset=utf-8")
WAYS = [CHANGE, WRITE, LINES]  # a request of each class of nginx.conf that is not a read
WRITES = [
    *WAYS,
    *(
        (*request, "application/json")
        for request in (
            ("POST", "/collections/a/delete"),
            ("POST", "/caches/a/store"),
            ("PATCH", "/collections/a/documents"),
            ("PUT", "/collections/a/glossary"),
            ("PUT", "/aliases/a"),
            ("DELETE", "/aliases/a"),
            ("PUT", "/collections/a/reembedding"),
            ("POST", "/collections/a/reembedding/step"),
            ("DELETE", "/collections/a/documents/1"),
            ("POST", "/search/../collections/a/documents"),  # an unusual spelling counts as a write
            ("POST", "/%73earch"),
            ("POST", "/searches"),
        )
    ),
]
Replicas: TypeAlias = tuple[Replica, Replica]
MAX_CONNECTIONS = 256  # of an address: limit_conn in nginx.conf
BURST = 200  # requests that a key, or an address, may send at once
NEVER, ALWAYS = "rate=1000000r/s", "rate=1r/m"  # rates that no test reaches, and that every burst exceeds
MANY = 12  # requests, enough for each replica to get some
ROUNDS = 4  # of failures, to vary the replica that nginx tries first


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    both = Replica(), Replica()
    yield both
    for replica in both:
        replica.die()


@contextmanager
def balancer(replicas: Replicas, callers: str = ALWAYS, addresses: str = NEVER) -> Iterator[NginxServer]:
    """nginx before both replicas, with these rates of a key and of an address, and without haste."""
    if shutil.which("nginx") is None:
        missing("nginx")
    limits = {
        "zone=callers:16m rate=100r/s": f"zone=callers:16m {callers}",
        "zone=addresses:16m rate=200r/s": f"zone=addresses:16m {addresses}",
        "client_body_timeout 10s": "client_body_timeout 600s",
    }
    server = NginxServer([f"127.0.0.1:{port}" for port in ports(replicas)], limits)
    server.start()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def nginx(replicas: Replicas) -> Iterator[NginxServer]:
    with balancer(replicas) as server:
        yield server


@pytest.fixture
def http(nginx: NginxServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=nginx.url, timeout=CEILING_S) as client:
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
    connection = HTTPConnection("127.0.0.1", nginx.port, timeout=CEILING_S)
    connection.request(method, path, body, {"content-type": kind} if body else {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return Answer(answer.status, answer.headers, text)


def received(replicas: Replicas) -> Counter[str]:
    """Number of times each request reached a replica."""
    return Counter(line for replica in replicas for line in replica.received)


@pytest.mark.parametrize(
    ("method", "path", "failure"),
    [
        *((*read, None) for read in READS),  # cut off, after which nginx retries none but reads
        *((*read, failure) for read in (READS[0], READS[3], LONG_READ) for failure in ("dead", 500, 502, 503)),
    ],
)
def test_a_read_fails_over_from_a_failing_replica(
    method: str, path: str, failure: int | str | None, nginx: NginxServer, replicas: Replicas
) -> None:
    failing, alive = replicas
    if isinstance(failure, str):
        failing.die()
    else:
        failing.status = failure
    answers = [send(nginx, method, path) for _ in range(MANY)]
    assert [(answer.status, answer.text) for answer in answers] == [(200, str(alive.server_port))] * MANY
    assert failing.received or failure == "dead", "the failing replica must have been tried"


def test_a_read_returns_to_a_replica_that_has_recovered(nginx: NginxServer, replicas: Replicas) -> None:
    for refusing, back in [replicas, replicas[::-1]] * ROUNDS:
        refusing.status = 503
        answers = [send(nginx, "POST", "/search") for _ in range(MANY)]
        assert [(answer.status, answer.text) for answer in answers] == [(200, str(back.server_port))] * MANY
        refusing.status = 200


def test_a_read_refused_by_all_gets_503_the_next_succeeds(nginx: NginxServer, replicas: Replicas) -> None:
    for replica in replicas:
        replica.status = 503
    refusals = [send(nginx, "POST", "/search") for _ in range(MANY)]
    assert [(refusal.status, refusal.text in map(str, ports(replicas))) for refusal in refusals] == [(503, True)] * MANY
    for replica in replicas:
        replica.status = 200
    assert [send(nginx, "POST", "/search").status for _ in range(MANY)] == [200] * MANY


def ports(replicas: Replicas) -> list[int]:
    return [replica.server_port for replica in replicas]


@pytest.mark.parametrize(
    ("write", "failure"),
    [*((write, None) for write in WRITES), *((write, failure) for write in WAYS for failure in (500, 503))],
)
def test_a_write_cut_off_or_refused_is_not_retried(
    write: tuple[str, str, str], failure: int | None, nginx: NginxServer, replicas: Replicas
) -> None:
    for replica in replicas:
        replica.status = failure
    assert [send(nginx, *write).status for _ in range(MANY)] == [failure or 502] * MANY
    assert received(replicas) == {" ".join(write[:2]): MANY}


@pytest.mark.parametrize("write", WAYS, ids=" ".join)
def test_a_write_to_an_unreachable_replica_reaches_the_other_once(
    write: tuple[str, str, str], nginx: NginxServer, replicas: Replicas
) -> None:
    replicas[0].die()
    assert [send(nginx, *write).status for _ in range(MANY)] == [200] * MANY
    assert received(replicas) == {" ".join(write[:2]): MANY}
    assert not replicas[0].received


def test_paths_are_forwarded_unchanged(nginx: NginxServer, replicas: Replicas) -> None:
    paths = [
        "/collections/a/documents/x%2Fy%20%C3%A9",
        "/collections/a/documents/a//b?cursor=%2B%26",
        "/explain?a=&b=%00",
    ]
    assert [send(nginx, "GET", path).status for path in paths] == [200] * 3
    assert received(replicas) == dict.fromkeys((f"GET {path}" for path in paths), 1)


@pytest.mark.parametrize("path", ["/metrics", "/metrics?x=1", "//metrics", "/%6detrics", "/x/../metrics"])
def test_metrics_are_not_shown_outside(path: str, nginx: NginxServer, replicas: Replicas) -> None:
    assert send(nginx, "GET", path).status == 404
    assert not received(replicas)


def test_each_key_has_its_own_rate_limit(http: httpx2.Client) -> None:
    one, other = {"authorization": "Bearer one"}, {"authorization": "Bearer two"}
    answers = [http.get("/models", headers=one) for _ in range(BURST + 20)]
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) == {200, 429}
    assert BURST <= statuses[200] <= BURST + 10  # a request a minute more
    refusal = answers[-1]
    assert refusal.headers["content-type"] == "application/problem+json"
    assert refusal.headers["retry-after"] == "1"
    assert (refusal.json()["status"], refusal.json()["code"]) == (429, "rate_limited")
    assert [http.get("/models", headers=other).status_code for _ in range(20)] == [200] * 20
    assert http.get("/models").status_code == 200, "an address without a key has its own limit too"


def test_invented_keys_share_the_limit_of_their_address(replicas: Replicas) -> None:
    requests = [head("GET", "/models", f"authorization: Bearer invented-{number}") for number in range(BURST + 100)]
    with balancer(replicas, addresses=ALWAYS) as nginx, open_connection(nginx.url) as connection:
        connection.sendall(b"".join([*requests, head("GET", "/models", "connection: close")]))
        answers = b"".join(iter(lambda: connection.recv(65_536), b""))
    statuses = Counter(re.findall(rb"HTTP/1.1 (\d+)", answers))
    assert set(statuses) == {b"200", b"429"}
    assert BURST <= statuses[b"200"] <= BURST + 10  # a request a minute more


def test_one_address_may_not_hold_all_connections(replicas: Replicas) -> None:
    with balancer(replicas, callers=NEVER) as nginx, ExitStack() as held:
        for number in range(MAX_CONNECTIONS):
            waiting = held.enter_context(open_connection(nginx.url))
            key = f"authorization: Bearer key-{number}"
            waiting.sendall(head("POST", "/search", key, "expect: 100-continue", length=10))  # its body never comes
            read_until(waiting, b"100 Continue\r\n\r\n")  # it is counted from now on
        assert json.loads(send(nginx, "GET", "/live").text)["code"] == "rate_limited"
        held.close()
        until(lambda: send(nginx, "GET", "/live").status == 200, "an answer when the connections are closed")


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
    "a large body for Azure's path": (
        head("POST", "/openai/deployments/a/embeddings", length=9_000_000),
        413,
        "body_too_large",
    ),
    "a large body for Ollama": (head("POST", "/api/embeddings", length=9_000_000), 413, "body_too_large"),
    "a large body for TEI": (head("POST", "/embed_all", length=9_000_000), 413, "body_too_large"),
    "a long header under /v1/": (head("GET", "/v1/x", "x: " + 33_000 * "y"), 431, "headers_too_large"),
}


@pytest.mark.parametrize(("request_", "status", "code"), OWN_ANSWERS.values(), ids=OWN_ANSWERS)
def test_own_answers_of_nginx_resemble_those_of_the_service(
    request_: bytes, status: int, code: str, nginx: NginxServer
) -> None:
    with open_connection(nginx.url) as connection:
        connection.sendall(request_)
        answer = read_answer(connection)
    assert answer.status == status
    if b"/embed_all" in request_:
        assert answer.headers["content-type"] == "application/json"
        assert TeiErrorAnswer.model_validate_json(answer.body, strict=True).code == code
    elif b" /api/" in request_:
        assert answer.headers["content-type"] == "application/json"
        assert OllamaErrorAnswer.model_validate_json(answer.body, strict=True).code == code
    elif re.search(rb" /(v[12]/|rerank|openai/)", request_):
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
    until(lambda: nginx.access_log, "the line of the log")  # nginx reads on for a while when it refuses a body
    [logged] = map(json.loads, nginx.access_log.splitlines())
    assert logged["request_id"] == answer.headers["x-request-id"]
    assert len(logged["request_id"]) == 32
    assert logged["status"] == str(status)
    assert not logged["method"] or request_.startswith(logged["method"].encode())


def test_a_request_without_host_reaches_replicas_with_one(nginx: NginxServer) -> None:
    """As HTTP/1.0 allows; the replicas refuse HTTP/1.1 without Host."""
    with open_connection(nginx.url) as connection:
        connection.sendall(b"GET /live HTTP/1.0\r\n\r\n")
        assert read_answer(connection).status == 200


def test_a_body_over_the_limit_gets_a_problem_document(http: httpx2.Client, replicas: Replicas) -> None:
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
    assert http.post("/files", content=large).status_code == 200
    assert received(replicas) == {"POST /search": 1, f"POST {documents}": 1, "POST /files": 1}


def test_without_replicas_requests_get_502_as_a_problem_document(nginx: NginxServer, replicas: Replicas) -> None:
    for replica in replicas:
        replica.die()
    for request in [READS[0], READS[3], LONG_READ, *WAYS]:
        refusal = send(nginx, *request)
        assert (refusal.status, json.loads(refusal.text)["code"]) == (502, "bad_gateway"), request
        assert refusal.headers["retry-after"] == "1"


def test_ndjson_is_streamed_in_both_directions(nginx: NginxServer) -> None:
    head = "POST /collections/a/documents HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\n"
    with open_connection(nginx.url) as connection:
        connection.sendall(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        answered = b""
        for number in range(1, 4):  # each line waits for the answer to the one before
            connection.sendall(b"3\r\n{}\n\r\n")
            while b"\n%d\n" % (3 * number) not in answered:
                answered += connection.recv(4096) or pytest.fail(f"the connection ended: {answered!r}")
        connection.sendall(b"0\r\n\r\n")
        while not answered.endswith(b"0\r\n\r\n"):
            answered += connection.recv(4096) or pytest.fail(f"the connection ended: {answered!r}")


def test_logs_hold_neither_texts_nor_keys(nginx: NginxServer, http: httpx2.Client, replicas: Replicas) -> None:
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
    with open_connection(nginx.url) as connection:
        connection.sendall(b"GET /explain?a=a-private-text NONSENSE\r\nauthorization: a-private-key\r\n\r\n")
        assert b" 400 " in connection.recv(4096)
    until(lambda: http.get(path, headers=headers).status_code == 429, "a refusal by rate")
    nginx.stop()
    assert b"a-private-text" not in nginx.all_output
    assert b"a-private-key" not in nginx.all_output
    first = json.loads(nginx.access_log.splitlines()[0])
    assert (first["method"], first["path"], first["status"]) == ("GET", "/explain", "200")
    assert first["replica"] in [f"127.0.0.1:{port}" for port in ports(replicas)]
