"""The Host header: exactly one, and without keys on loopback only names of this machine."""

from __future__ import annotations

import httpx2
import pytest

from tests.integration.edge.conftest import READER, bearer
from tests.integration.raw_http import Answer, open_connection, read_answer
from tests.support.running_service import Service


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.5", ""]
)
def test_a_page_may_not_call_under_its_own_name(http: httpx2.Client, host: str) -> None:
    """As after DNS rebinding, when a browser takes this service for a part of the page's site."""
    for path in ("/collections", "/live", "/metrics", "/docs"):
        refused = http.get(path, headers={"host": host})
        assert (refused.status_code, refused.json()["code"]) == (421, "host_not_allowed")
    refused = http.post("/v1/embeddings", json={}, headers={"host": host})
    assert (refused.status_code, refused.json()["error"]["code"]) == (421, "host_not_allowed")


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:8000", "127.0.0.9", "[::1]", "[::1]:8000"])
def test_this_machine_may_call_itself_without_keys(http: httpx2.Client, host: str) -> None:
    assert http.get("/collections", headers={"host": host}).status_code == 200


def test_with_keys_any_host_may_be_called(anyone: httpx2.Client) -> None:
    for host in ("semblance.example.org", "semblance-0:8000", "10.1.2.3:8000"):
        assert anyone.get("/live", headers={"host": host}).status_code == 200
        assert anyone.get("/models", headers={"host": host, **bearer(READER)}).status_code == 200


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [("1.1", 0, 400), ("1.1", 1, 200), ("1.1", 2, 400), ("1.0", 0, 200), ("1.0", 1, 200), ("1.0", 2, 400)],
)
def test_a_request_has_exactly_one_host(service: Service, version: str, hosts: int, status: int) -> None:
    answer = get_live(service, version, hosts)
    assert answer.status == status
    if status == 400:
        assert answer.json["code"] == "malformed_http"
        assert f"{hosts} Host headers" in answer.json["detail"]


def get_live(service: Service, version: str, hosts: int) -> Answer:
    with open_connection(service.url) as connection:
        lines = [f"GET /live HTTP/{version}", *(hosts * ["host: localhost"]), "", ""]
        connection.sendall("\r\n".join(lines).encode())
        answer = read_answer(connection)
        if version == "1.0" or answer.status == 400:
            assert connection.recv(1) == b"", "the connection is closed"
        return answer
