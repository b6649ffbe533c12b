"""The OpenAPI document as other tools read it: patterns, components and addresses."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from semblance.service.api.openapi.document import _literal
from semblance.service.app import create_app
from semblance.service.settings import Settings
from tests.conftest import missing

NODE = """
const patterns = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(patterns.map(([pattern, texts]) => {
  try { const one = new RegExp(pattern, "u"); return texts.map(text => one.test(text)); }
  catch (error) { return String(error); }
})));
"""
# what Python allows in a pattern, and ECMA-262 in Unicode mode does not, or reads otherwise
NOT_ECMA = re.compile(
    r"\(\?[aiLmsux-]+[:)]|\(\?P|\(\?#|\(\?>|\\[AZzGQ]|[*+?}]\+|\\p|\[\[:|\\N\{"
    r"|\\(?![\^$\\.*+?()\[\]{}|/dDsSwWbBtnvfr0]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"
)
TEXTS = [
    "",
    "a",
    "minilm",
    "minilm@cosine",
    "minilm-graded",
    "minilmxwords",
    "a.b",
    "a\nb",
    "left",
    "\x00",
    "x:12",
    "YQ==",
]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    settings = Settings(model_aliases="rerank-v3.5=minilm@cosine,a/b+c (d)=minilm,größe~#&=minilm")
    return create_app(settings).openapi()


def nodes(part: object) -> Iterator[dict[str, Any]]:
    """Every object of the document."""
    if isinstance(part, dict):
        yield part
        for inner in part.values():
            yield from nodes(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from nodes(inner)


def patterns(document: dict[str, Any]) -> list[str]:
    return sorted({node["pattern"] for node in nodes(document) if isinstance(node.get("pattern"), str)})


def by_node(asked: list[tuple[str, list[str]]]) -> list[Any]:
    """For each pattern which texts it matches in JavaScript, or its error there."""
    node = shutil.which("node")
    if node is None:
        missing("node")
    ran = subprocess.run([str(node), "-e", NODE], input=json.dumps(asked), capture_output=True, text=True, check=True)
    answered: list[Any] = json.loads(ran.stdout)
    return answered


def test_patterns_have_only_what_ecma_262_has(document: dict[str, Any]) -> None:
    found = patterns(document)
    assert len(found) > 6
    assert not [pattern for pattern in found if NOT_ECMA.search(pattern)]


def test_patterns_match_in_javascript_as_in_python(document: dict[str, Any]) -> None:
    found = patterns(document)
    matched = by_node([(pattern, TEXTS) for pattern in found])
    for pattern, texts in zip(found, matched, strict=True):
        assert texts == [re.search(pattern.replace("$", r"\Z"), text) is not None for text in TEXTS], pattern
    assert any(any(texts) for texts in matched)


@pytest.mark.parametrize(
    "pattern",
    ["(?i)a", r"a\Z", r"\Aa", "a++", "(?P<x>a)", "(?>a)", r"minilm\-words", r"a\ b", r"\p{L}", "(?x: a)", r"\N{DASH}"],
)
def test_the_rules_know_what_is_not_ecma_262(pattern: str) -> None:
    assert NOT_ECMA.search(pattern)


@pytest.mark.parametrize("text", ["a-b_c", "rerank-v3.5", "a/b+c (d)", "größe~#&%@!", r"^$\.*+?()[]{}|", "a,b;c:d'\"`"])
def test_a_literal_matches_itself_alone(text: str) -> None:
    pattern = f"^{_literal(text)}$"
    assert re.fullmatch(pattern, text)
    assert by_node([(pattern, [text, text.replace(".", "x") + "x", ""])]) == [[True, False, False]]


def test_filters_are_one_component(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    reference = {"$ref": "#/components/schemas/Filter"}
    filters = [
        schema["properties"]["filter"] for schema in schemas.values() if "filter" in schema.get("properties", {})
    ]
    assert len(filters) == 9
    assert all(schema["anyOf"] == [reference, {"type": "null"}] for schema in filters)
    assert {"and", "or", "not"} == schemas["Filter"]["properties"].keys()
    assert schemas["Filter"]["properties"]["not"]["$ref"] == "#/components/schemas/FilterPart"


def test_objects_say_what_they_hold(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        for node in nodes(schema.get("properties", {})):
            if node.get("type") == "object":
                assert "properties" in node or "additionalProperties" in node, (name, node)
            if "metadata" in node and isinstance(node["metadata"], dict):
                assert node["metadata"]["additionalProperties"], name


def test_every_reference_has_its_component(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    references = {node["$ref"].removeprefix("#/components/schemas/") for node in nodes(document) if "$ref" in node}
    assert len(references) > 50
    assert references <= schemas.keys()


def test_the_address_is_that_of_the_document(document: dict[str, Any]) -> None:
    assert document["servers"] == [{"url": "."}]


@pytest.mark.parametrize(
    ("path", "schema"), [("/explain", "ExplainRequest"), ("/explain/difference", "DifferenceRequest")]
)
def test_parameters_of_a_query_are_described_as_its_body(document: dict[str, Any], path: str, schema: str) -> None:
    parameters = document["paths"][path]["get"]["parameters"]
    described = {each["name"]: each.get("description") for each in parameters}
    fields = document["components"]["schemas"][schema]["properties"]
    assert described == {name: field.get("description") for name, field in fields.items()}
    assert len([text for text in described.values() if text]) >= 5


def test_every_field_parameter_and_group_is_described(document: dict[str, Any]) -> None:
    fields = {
        f"{schema}.{name}": field
        for schema, own in document["components"]["schemas"].items()
        for name, field in own.get("properties", {}).items()
    }
    assert len(fields) > 900
    assert [name for name, field in fields.items() if not field.get("description")] == []
    operations = [operation for own in document["paths"].values() for operation in own.values()]
    parameters = [each for operation in operations for each in operation.get("parameters", ())]
    assert [each["name"] for each in parameters if not each.get("description")] == []
    groups = {each["name"]: each["description"] for each in document["tags"]}
    assert {tag for operation in operations for tag in operation["tags"]} == groups.keys()


def test_every_answer_has_an_example_of_its_schema(document: dict[str, Any]) -> None:
    answers = 0
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                content = answer.get("content", {}).get("application/json")
                if status.startswith("2") and content:
                    answers += 1
                    schema = {**content["schema"], "components": document["components"]}
                    errors = [
                        each.message for each in jsonschema_rs.validator_for(schema).iter_errors(content["example"])
                    ]
                    assert errors == [], (path, status)
    assert answers > 50
    assert document["components"]["schemas"]["ProblemDetails"]["examples"][0]["code"] == "empty_text"
