"""The OpenAPI document tells what is taken, and the service keeps it: by generated requests, and by every example."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from rich.console import Console

from semblance.models import catalogue
from semblance.service.ports.indexes import AUTO
from tests.soak.fuzz import Report, fuzz, fuzzed_service, show

EXAMPLES = 30
SEED = 1


@pytest.fixture(scope="module")
def fuzzed() -> Report:
    with fuzzed_service() as url:
        report = fuzz(url, EXAMPLES, SEED)
    show(report, Console(width=140))
    return report


@pytest.fixture(scope="module")
def document(http: httpx2.Client) -> dict[str, Any]:
    described: dict[str, Any] = http.get("/openapi.json").json()
    return described


def test_every_promise_of_the_document_is_kept(fuzzed: Report) -> None:
    assert fuzzed.failed == 0
    assert not fuzzed.broken, "\n".join(fuzzed.broken)


def test_every_operation_was_tried_and_succeeded(fuzzed: Report, document: dict[str, Any]) -> None:
    described = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert described == {row.operation for row in fuzzed.rows if row.data == "valid" and row.ok}


def test_most_of_what_the_document_calls_valid_is_taken(fuzzed: Report) -> None:
    assert fuzzed.share("valid") >= 0.5
    assert fuzzed.share() >= 0.5
    assert fuzzed.share("invalid") < 0.1


def request_bodies(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and schema of every JSON body."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                yield (
                    method,
                    path,
                    resolved(operation["requestBody"]["content"]["application/json"]["schema"], document),
                )


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    choices = [schema, *schema.get("anyOf", [])]
    [name] = [each["$ref"].rpartition("/")[2] for each in choices if "$ref" in each]
    found: dict[str, Any] = document["components"]["schemas"][name]
    return found


def call(http: httpx2.Client, method: str, path: str, **how: Any) -> httpx2.Response:
    return http.request(method, re.sub(r"\{name\}", "exemplary", path), **how)


def test_every_example_of_a_body_is_taken(http: httpx2.Client, document: dict[str, Any]) -> None:
    http.put("/collections/exemplary").raise_for_status()
    tried = 0
    for method, path, schema in request_bodies(document):
        assert schema["examples"], f"{path} has no example"
        for example in schema["examples"]:
            if (method, path) == ("put", "/collections/{name}"):
                http.delete("/collections/exemplary")
            answer = call(http, method, path, json=example)
            assert answer.status_code in (200, 201), (path, example, answer.text)
            tried += 1
    assert tried >= 10


def test_every_example_of_a_parameter_is_taken(http: httpx2.Client, document: dict[str, Any]) -> None:
    """All examples of names are of the sample; those of other parameters go with what is required."""
    fixed = {"a": "A cat.", "name": "default", "doc_id": "shipping-001"}
    tried = 0
    for path, methods in document["paths"].items():
        if "get" not in methods:
            continue
        parameters = methods["get"].get("parameters", [])
        required = {each["name"]: fixed[each["name"]] for each in parameters if each["required"]}
        for parameter in parameters:
            for example in parameter["schema"].get("examples", []):
                given = required | {parameter["name"]: example}
                if path == "/explain" and "id" not in given:
                    given["b"] = "A dog."
                url = re.sub(r"\{(\w+)\}", lambda found, given=given: given.pop(found[1]), path)  # type: ignore[misc]
                answer = http.get(url, params=given)
                assert answer.status_code == 200, (path, given, answer.text)
                tried += 1
    assert tried >= 5


BOUNDS = {"and": [{"views": {"gte": 1, "lt": 5}}, {"or": [{"tags": {"in": ["a", 1, None]}}, {"x": True}]}]}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "/similarity", {"pairs": [{"a": "x", "b": "y"}], "left": None, "right": None, "explain": True}),
        ("post", "/similarity", {"left": ["x"], "right": ["y"], "pairs": None, "model": "minilm", "truncate": "NONE"}),
        ("post", "/search", {"query": "x", "queries": None, "min_score": 0.1, "filter": BOUNDS, "candidates": 50}),
        ("post", "/search", {"queries": ["x", "مرحبا"], "k": 1000, "measure": "rcmd1", "filter": None}),
        ("post", "/explain", {"a": "x", "b": "y", "format": "svg", "granularity": "token", "max_links": 0}),
        ("post", "/explain", {"a": "x", "id": "shipping-001", "collection": "default", "b": None, "model": None}),
        ("put", "/collections/{name}", {}),
        ("put", "/collections/{name}", {"model": "minilm", "index": "exact", "tokens": "int8", "measure": "rcmd2"}),
        ("post", "/collections/default/documents", {"documents": [{"id": "a/b c", "text": "t", "metadata": {}}]}),
        ("post", "/v1/embeddings", {"model": "minilm", "input": ["x", "y"], "dimensions": 384, "user": "u"}),
    ],
)  # fmt: skip
def test_valid_requests_are_taken(http: httpx2.Client, method: str, path: str, body: dict[str, Any]) -> None:
    if method == "put":
        http.delete("/collections/exemplary")
    assert call(http, method, path, json=body).status_code in (200, 201)
    http.delete("/collections/default/documents/a%2Fb%20c")


def test_the_document_knows_the_names_and_the_limits_of_this_process(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    search, similarity = schemas["SearchRequest"]["properties"], schemas["SimilarityRequest"]["properties"]
    assert search["k"]["maximum"] == 1000
    assert search["candidates"]["maximum"] == 10_000
    assert search["queries"]["maxItems"] == similarity["pairs"]["maxItems"] == 4096
    assert schemas["DocumentsRequest"]["properties"]["documents"]["maxItems"] == 1000
    assert schemas["Pair"]["properties"]["a"]["maxLength"] == 100_000
    assert similarity["measure"]["enum"] == list(catalogue.names("semblance.models.similarities"))
    assert similarity["model"]["anyOf"][0]["enum"] == ["minilm-clrcmd", "minilm"]
    assert schemas["CollectionRequest"]["properties"]["index"]["enum"] == [
        AUTO,
        *catalogue.names("semblance.service.indexes.engines"),
    ]
    assert "known-" not in str(document)


def test_no_parameter_may_be_null_and_every_name_in_a_path_has_a_pattern(document: dict[str, Any]) -> None:
    parameters = [
        each
        for path in document["paths"].values()
        for operation in path.values()
        for each in operation.get("parameters", [])
    ]
    assert len(parameters) > 15
    assert not any("'null'" in str(each["schema"]) for each in parameters)
    assert all(
        "pattern" in each["schema"] and each["schema"]["examples"] for each in parameters if each["in"] == "path"
    )
