"""The service conforms to its OpenAPI document: generated requests and every example."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from rich.console import Console
from semblance_client.vocabulary.responses import WARNINGS

from semblance.models import catalogue
from semblance.service.ports.indexes import AUTO

if TYPE_CHECKING:
    from tests.soak.fuzz import Report

EXAMPLES = 2
SEED = 1
# small networks have no classifier of paraphrases; test_same.py and test_caches.py ask the real one
UNFIT = {"POST /same", "POST /caches/{name}/lookup"}


@pytest.fixture(scope="module")
def fuzzed(small: Path) -> Report:
    """What generated requests met: small networks under the names of the examples, since no score is looked at."""
    from tests.soak.fuzz import fuzz, fuzzed_service, show

    models = {"small": f"{small}", "other": f"{small}?pooling=max"}
    aliases = {"minilm-graded": "small", "minilm-words": "small", "minilm-clrcmd": "other", "minilm": "other"}
    with fuzzed_service(models=listed(models), model_aliases=listed(aliases)) as url:
        report = fuzz(url, EXAMPLES, SEED, boundaries=False)
    show(report, Console(width=140))
    return report


def listed(named: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in named.items())


@pytest.fixture(scope="module")
def document(http: httpx2.Client) -> dict[str, Any]:
    described: dict[str, Any] = http.get("/openapi.json").json()
    return described


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and description of each operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_answers_to_generated_requests_match_the_document(fuzzed: Report) -> None:
    assert fuzzed.failed == 0
    assert not fuzzed.violations, "\n".join(fuzzed.violations)


def test_every_operation_succeeded_for_generated_requests(fuzzed: Report, document: dict[str, Any]) -> None:
    described = {f"{method.upper()} {path}" for path, method, _ in operations(document)}
    succeeded = {row.operation for row in fuzzed.rows if row.data == "valid" and row.ok}
    assert described - succeeded <= UNFIT
    assert succeeded <= described


def test_most_valid_generated_requests_are_accepted(fuzzed: Report) -> None:
    assert fuzzed.share("valid") >= 0.8
    assert fuzzed.share() >= 0.7
    assert fuzzed.share("invalid") < 0.1


def resolve(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    choices = [schema, *schema.get("anyOf", [])]
    [name] = [each["$ref"].rpartition("/")[2] for each in choices if "$ref" in each]
    referenced: dict[str, Any] = document["components"]["schemas"][name]
    return referenced


def test_every_example_of_a_body_is_accepted(http: httpx2.Client, document: dict[str, Any]) -> None:
    http.put("/collections/exemplary").raise_for_status()
    tried = 0
    for path, method, operation in operations(document):
        if "requestBody" not in operation:
            continue
        schema = resolve(operation["requestBody"]["content"]["application/json"]["schema"], document)
        assert schema["examples"], f"{path} has no example"
        for example in schema["examples"]:
            if (method, path) == ("put", "/collections/{name}"):
                http.delete("/collections/exemplary")
            name = "alias-of-exemplary" if path.startswith("/aliases") else "exemplary"
            place = path.replace("{name}", name).replace("{deployment}", "minilm")
            answer = http.request(method, place, json=example)
            assert answer.status_code in (200, 201), (path, example, answer.text)
            tried += 1
    assert tried >= 10


COMPARED = {"query": "my parcel never came", "a": "shipping-002", "b": "shipping-003"}


def test_every_example_of_a_parameter_is_accepted(http: httpx2.Client, document: dict[str, Any]) -> None:
    """Examples of names are from the sample; other examples are combined with the required parameters."""
    fixed = {"a": "A cat.", "name": "default", "doc_id": "shipping-001"}
    tried = 0
    for path, method, operation in operations(document):
        parameters = operation.get("parameters", []) if method == "get" else []
        names = fixed | (COMPARED if path == "/explain/difference" else {})
        required = {each["name"]: names[each["name"]] for each in parameters if each["required"]}
        for parameter in parameters:
            for example in parameter["schema"].get("examples", []):
                values = required | {parameter["name"]: example}
                if path == "/explain" and "id" not in values:
                    values["b"] = "A dog."
                url = re.sub(r"\{(\w+)\}", lambda match, values=values: values.pop(match[1]), path)  # type: ignore[misc]
                answer = http.get(url, params=values)
                assert answer.status_code == 200, (path, values, answer.text)
                tried += 1
    assert tried >= 5


def test_operations_have_names_and_summaries_of_their_own(document: dict[str, Any]) -> None:
    found = {operation["operationId"]: operation["summary"] for _, _, operation in operations(document)}
    assert len(found) == len(list(operations(document))), "each id once"
    assert {"compare_texts", "search", "begin_reembedding", "store_documents", "embed_texts"} <= found.keys()
    for name, summary in found.items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+){0,2}", name), "a verb and its object, without path and method"
        assert not re.search(r"_(get|put|post|delete)$", name)
        assert summary != name.replace("_", " ").title(), "written, not derived from the id"
        assert len(summary) <= 50


def test_an_operation_lists_only_refusals_of_its_own(document: dict[str, Any]) -> None:
    codes = {
        each["operationId"]: set(re.findall(r"`(\w+)`", str(each["responses"]))) for _, _, each in operations(document)
    }
    assert not codes["compare_texts"] & {"unknown_collection", "bad_filter", "store_full", "duplicate_id"}
    of_bodies = {"malformed_json", "unsupported_media_type", "too_many_tokens", "unknown_collection"}
    assert not codes["list_collections"] & of_bodies
    assert not codes["get_liveness"] & {"unknown_field", "malformed_json", "store_unavailable"}
    for explained in ("explain", "explain_difference"):
        assert {"not_acceptable", "unknown_document", "not_explainable"} <= codes[explained]
    assert {"document_changed", "version_mismatch", "bad_version", "store_full"} <= codes["delete_document"]
    assert all("malformed_http" in each and "internal_error" in each for each in codes.values())


def test_warnings_have_the_codes_of_their_table(document: dict[str, Any]) -> None:
    assert set(document["components"]["schemas"]["RequestWarning"]["properties"]["code"]["enum"]) == set(WARNINGS)
    answers = ("Similarities", "SearchResults", "PairExplanation", "ScoreDifference", "Stored", "EmbeddingsResponse")
    for answer in answers:
        assert "warnings" in document["components"]["schemas"][answer]["required"]


BOUNDS = {"and": [{"views": {"gte": 1, "lt": 5}}, {"or": [{"tags": {"in": ["a", 1, None]}}, {"x": True}]}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/similarity", {"pairs": [{"a": "x", "b": "y"}], "left": None, "right": None, "explain": True}),
        ("/similarity", {"left": ["x"], "right": ["y"], "pairs": None, "model": "minilm", "truncate": "NONE"}),
        ("/search", {"query": "x", "queries": None, "min_score": 0.1, "filter": BOUNDS, "candidates": 50}),
        ("/search", {"queries": ["x", "مرحبا"], "k": 1000, "measure": "rcmd1", "filter": None}),
        ("/explain", {"a": "x", "b": "y", "format": "svg", "granularity": "token", "max_links": 0}),
        ("/explain", {"a": "x", "id": "shipping-001", "collection": "default", "b": None, "model": None}),
        ("/explain/difference", {**COMPARED, "mode": "hybrid", "format": None, "measure": None}),
        ("/prune", {"query": "x", "documents": ["y. z."], "keep": {"tokens": 2, "share": None}, "model": None}),
        ("/same", {"pairs": [{"a": "x", "b": "y"}], "model": None, "text": None}),
        ("/same", {"text": "x", "collection": "default", "k": 3, "pairs": None, "model": None}),
        ("/caches/default/lookup", {"text": "x", "scope": {"a": "b"}, "filter": None, "candidates": 32}),
        ("/score", {"text_1": "x", "text_2": ["y", "z"], "model": "minilm@rcmd", "queries": None}),
        ("/embed", {"inputs": ["x"], "truncation_direction": "Right", "prompt_name": "query"}),
        ("/v1/rerank", {"query": "x", "documents": [{"a": 1, "b": "y"}], "rank_fields": ["b"], "top_k": 0}),
        ("/v1/embed", {"texts": ["x"], "model": "minilm", "embedding_types": ["int8"], "images": None}),
        ("/v2/embed", {"inputs": [{"content": [{"type": "text", "text": "x"}]}], "texts": None, "max_tokens": 9}),
        ("/v1/embeddings", {"input": [{"text": "x"}, "y"], "model": "minilm", "embedding_type": "binary"}),
        ("/v1/embeddings", {"input": {"text": "x"}, "model": "minilm", "truncate": True, "late_chunking": False}),
        ("/v2/rerank", {"model": "minilm@rcmd", "query": "x", "documents": "y", "relevant_spans": {}}),
    ],
)
def test_valid_requests_are_accepted(http: httpx2.Client, path: str, body: dict[str, Any]) -> None:
    assert http.post(path, json=body).status_code == 200


def test_the_document_contains_names_and_limits_of_this_process(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    search, similarity = schemas["SearchRequest"]["properties"], schemas["SimilarityOrTeiRequest"]["properties"]
    assert search["k"]["maximum"] == 1000
    assert search["candidates"]["maximum"] == 10_000
    assert search["queries"]["maxItems"] == similarity["pairs"]["maxItems"] == 4096
    assert schemas["DocumentsRequest"]["properties"]["documents"]["maxItems"] == 1000
    assert schemas["Pair"]["properties"]["a"]["maxLength"] == 100_000
    assert similarity["measure"]["enum"] == list(catalogue.names("semblance.models.measures"))
    assert similarity["model"]["anyOf"][0]["enum"] == ["minilm-graded", "minilm-words", "minilm-clrcmd", "minilm"]
    engines = catalogue.names("semblance.service.indexes.engines")
    assert schemas["CollectionRequest"]["properties"]["index"]["enum"] == [AUTO, *engines]
    assert "known-" not in str(document)


def test_no_parameter_is_null_and_path_names_have_patterns(document: dict[str, Any]) -> None:
    parameters = [each for _, _, operation in operations(document) for each in operation.get("parameters", [])]
    assert len(parameters) > 15
    assert not any("'null'" in str(each["schema"]) for each in parameters)
    in_paths = [each["schema"] for each in parameters if each["in"] == "path"]
    assert all("pattern" in schema and schema["examples"] for schema in in_paths)
