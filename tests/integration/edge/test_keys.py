"""Keys at a running service: open routes, scopes, and the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest
from pydantic import BaseModel

from semblance.service.api.error_shapes import ErrorAnswer, OllamaErrorAnswer, TeiErrorAnswer
from semblance.service.api.errors import ProblemDetails
from tests.integration.edge.conftest import (
    ADMIN,
    AS_READER,
    HEADER_BYTES,
    READER,
    REDIS_PASSWORD,
    SCOPES,
    bearer,
)
from tests.integration.raw_http import head, open_connection, read_answer
from tests.support.command_line import semblance
from tests.support.running_service import Service
from tests.support.waiting import until


@pytest.mark.parametrize("path", ["/live", "/ready", "/docs", "/docs/assets/swagger-ui.css", "/openapi.json", "/"])
def test_open_routes_need_no_key(anyone: httpx2.Client, path: str) -> None:
    assert anyone.get(path).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/metrics"), ("GET", "/collections"), ("POST", "/similarity"), ("GET", "/nosuch"), ("OPTIONS", "/search")],
)
def test_without_a_key_every_other_route_is_closed(anyone: httpx2.Client, method: str, path: str) -> None:
    for headers in ({}, bearer("smb_wrong"), {"authorization": "Basic abc"}):
        answer = anyone.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"


SHAPES: Mapping[str, type[BaseModel]] = {
    each.__name__: each for each in (ProblemDetails, ErrorAnswer, TeiErrorAnswer, OllamaErrorAnswer)
}


def test_refusals_before_any_route_are_as_documented(service: Service, anyone: httpx2.Client) -> None:
    document = anyone.get("/openapi.json").json()
    checked = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, lines in refused_heads(guarded="security" in operation):
                with open_connection(service.url) as connection:
                    connection.sendall(head(method.upper(), path.format(name="c", doc_id="1", deployment="d"), *lines))
                    answer = read_answer(connection)
                assert answer.status == status, (method, path)
                shape = operation["responses"][str(status)]["content"][answer.headers["content-type"]]["schema"]
                SHAPES[shape["$ref"].rpartition("/")[2]].model_validate_json(answer.body, strict=True)
                checked += 1
    assert checked > 50


def refused_heads(*, guarded: bool) -> list[tuple[int, list[str]]]:
    """Headers of requests that each route refuses, and the status."""
    large, second_host = [f"x: {'y' * HEADER_BYTES}"], ["host: localhost"]
    return [(431, large), (400, second_host), *([(401, []), (401, ["authorization: Bearer wrong"])] if guarded else [])]


def test_keys_are_checked_before_the_body_is_sent(service: Service) -> None:
    for line, status in (("x: y", 401), ("authorization: Bearer smb_wrong", 401), (AS_READER, 403)):
        with open_connection(service.url) as connection:
            connection.sendall(head("POST", "/collections/c/documents", line, length=5_000_000))
            assert read_answer(connection).status == status


def test_the_log_names_the_caller_and_contains_no_key(service: Service, anyone: httpx2.Client) -> None:
    answer = anyone.get("/models", headers=bearer(READER))
    refused = anyone.put("/collections/x", headers=bearer(READER))
    anyone.get("/models", headers=bearer("smb_guessed"))

    def logged(response: httpx2.Response) -> list[tuple[str, str]]:
        lines = map(json.loads, service.log.read_text().splitlines())
        name = response.headers["x-request-id"]
        return [(line["message"], line["caller"]) for line in lines if line.get("request_id") == name]

    assert until(lambda: logged(answer)) == [("GET /models 200", "reader")]
    assert until(lambda: logged(refused)) == [("PUT /collections/x 403", "reader")]
    log = service.log.read_text()
    assert "smb_" not in log
    assert hashlib.sha256(READER.encode()).hexdigest() not in log


def test_pages_errors_and_logs_contain_no_secret(service: Service, anyone: httpx2.Client) -> None:
    secrets = [REDIS_PASSWORD, *SCOPES, *(hashlib.sha256(key.encode()).hexdigest() for key in SCOPES)]
    described = anyone.get("/openapi.json").json()["paths"]
    others = ("/docs", "/openapi.json", "/docs/assets/nosuch", "/nosuch", "/collections/nosuch")
    requests = [
        *(("GET", path) for path in others),
        *((method.upper(), path.replace("{", "").replace("}", "")) for path in described for method in described[path]),
    ]
    outputs = []
    for key in (ADMIN, READER, "smb_unknown"):
        for method, path in requests:
            answer = anyone.request(method, path, headers=bearer(key), json={"odd": key[:3]})
            assert answer.status_code != 500
            outputs += [answer.text, str(answer.headers)]
    similar = anyone.post("/similarity", json={"pairs": [{"a": "x", "b": "y"}]}, headers=bearer(READER))
    assert similar.status_code == 200, "a route that uses Redis is covered"
    outputs += [similar.text, service.log.read_text()]
    assert len(requests) > 20
    assert [secret for secret in secrets for text in outputs if secret in text] == []


def test_the_command_line_sends_its_key(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"id": "1", "text": "A cat."}))

    command = ("index", str(file), "--collection", "cli", "--url", service.url)
    refused = semblance(*command)
    assert refused.returncode == 1
    assert "401" in refused.stderr
    assert "set SEMBLANCE_CLIENT_KEY" in refused.stderr
    assert semblance(*command, SEMBLANCE_CLIENT_KEY=ADMIN).returncode == 0
