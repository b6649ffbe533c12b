"""The OpenAPI document: that of FastAPI, completed with the limits and keys of this process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts
from semblance_client.vocabulary.described import Described
from semblance_client.vocabulary.fields import FILTER_SCHEMAS

from semblance.models import catalogue
from semblance.service.api.edge.keys import Guard, scope_of
from semblance.service.api.edge.origins import READING
from semblance.service.api.error_shapes import ErrorAnswer, OllamaErrorAnswer, TeiErrorAnswer
from semblance.service.api.errors import ProblemDetails
from semblance.service.api.openapi.examples import add_examples
from semblance.service.api.openapi.refusals import ANY_BODY, EDGE, KEY, READ_BODY, documented
from semblance.service.ports.indexes import AUTO, ENGINES
from semblance.service.settings import Settings

_GROUPS: Mapping[str, str] = {
    "compare": "Scores of texts, their embeddings and rankings, whether they say the same, and pruned contexts.",
    "search": "Documents of a collection by meaning and words, and suggestions while typing.",
    "explain": "Why two texts, or a query and a document, have their score, as JSON, pages and pictures.",
    "collections": "Collections, their glossaries and aliases, and the move to another model.",
    "documents": "Documents of a collection: store, change, list, count, delete, map, near-duplicates, and files.",
    "caches": "Answers to questions, found again by questions that say the same.",
    "models": "Models and measures that are served.",
    "operation": "Whether the service runs and is ready, and its metrics.",
    "tei": "Routes of Text Embeddings Inference.",
    "ollama": "Routes of Ollama.",
}
_HERE = {"url": "."}  # relative to the document, so that a path prefix before the service stays


def install(app: FastAPI, settings: Settings, models: Sequence[str], rerankers: Sequence[str], guard: Guard) -> None:
    """Serve the document of `app`, with the settings, models and keys of this process."""
    known = {
        **settings.model_dump(),
        "models": list(models),
        "measures": list(catalogue.measures()),
        "model_choice": _pattern_of_choices(models),
        "ranking_model": _pattern_of_choices([*models, *rerankers]),
        "rerank_model": f"^({_alternatives(rerankers)})$",
        "indexes": [AUTO, *catalogue.names(ENGINES)],
    }

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _describe_parameters(app)
            described = get_openapi(
                title=app.title,
                version=app.version,
                summary=app.summary,
                routes=app.routes,
                servers=[_HERE],
                tags=[{"name": name, "description": description} for name, description in _GROUPS.items()],
            )
            completed = _completed(described)
            _describe_refusals(completed, guard)
            app.openapi_schema = _filled(completed, known)
            add_examples(app.openapi_schema)
        return cast("dict[str, Any]", app.openapi_schema)

    app.openapi = openapi  # type: ignore[method-assign]  # as documented by FastAPI


def _describe_parameters(app: FastAPI) -> None:
    """Describe the parameters of queries that are read as one model."""
    routes = (context.original_route for context in iter_route_contexts(app.routes))
    for route in routes:
        for parameter in route.dependant.query_params if isinstance(route, APIRoute) else ():
            kind = parameter.field_info.annotation
            if isinstance(kind, type) and issubclass(kind, Described):
                kind.describe_fields()


def _pattern_of_choices(models: Sequence[str]) -> str:
    """Pattern of `model` and `model@measure`, in the regular expressions of ECMA-262."""
    return f"^({_alternatives(models)})(@({_alternatives(catalogue.measures())}))?$"


def _alternatives(names: Sequence[str]) -> str:
    return "|".join(map(_literal, names))


def _literal(text: str) -> str:
    r"""A text as a pattern of ECMA-262, where `re.escape` would escape more than is allowed.

    >>> _literal("rerank-v3.5")
    'rerank-v3\\.5'
    """
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", text)


def operation_id(route: APIRoute) -> str:
    """The id of an operation, which names it in generated clients: the name of its function."""
    return route.name


def _completed(described: dict[str, Any]) -> dict[str, Any]:
    """Document errors as problems, and parameters without null (query strings have none)."""
    schemas = described["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for _, _, operation in _operations(described):
        if "HTTPValidationError" in str(operation["responses"].get("422")):
            del operation["responses"]["422"]  # added by FastAPI for parameters that accept any string
        for parameter in operation.get("parameters", ()):
            parameter["schema"] = _without_null(parameter["schema"])
    for shape in (ProblemDetails, ErrorAnswer, TeiErrorAnswer, OllamaErrorAnswer):
        schema = shape.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        schemas.update(schema.pop("$defs", {}))
        schemas[shape.__name__] = schema
    schemas.update(FILTER_SCHEMAS)
    return described


def _describe_refusals(described: dict[str, Any], guard: Guard) -> None:
    """Document the errors of each operation, and the key that it requires."""
    for method, path, operation in _operations(described):
        edge = _edge_codes(method, operation)
        if guard.needs_key(method, path):
            edge += KEY
            operation["security"] = [{"key": []}]
            requires = f"Requires a key with the scope `{scope_of(method, path)}`."
            operation["description"] = f"{operation.get('description', '')}\n\n{requires}".strip()
        refusals = documented(path, operation["operationId"], edge)
        for status, own in operation["responses"].items():
            if status in refusals:  # of /ready, a problem in the shape of its own
                refusals[status]["content"].update(own.get("content", {}))
            else:
                refusals[status] = own
        operation["responses"] = dict(sorted(refusals.items()))
    if guard.ring.keys:
        described["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}


def _edge_codes(method: str, operation: Mapping[str, Any]) -> list[str]:
    """The codes of errors before any route, except those of keys."""
    codes = [*EDGE]
    if method not in READING:
        codes.append("origin_not_allowed")
    if method in ("POST", "PUT", "PATCH"):
        codes += ANY_BODY
    if "requestBody" in operation:
        codes += READ_BODY
    return codes


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an optional parameter, which cannot be null."""
    rest: list[dict[str, Any]] = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(rest) != 1:
        return schema
    return {**{key: value for key, value in schema.items() if key != "anyOf"}, **rest[0]}


def _filled(node: Any, known: Mapping[str, Any]) -> Any:
    """Fill in the values of this process: `known-maximum: max_k` becomes `maximum: 1000`."""
    match node:
        case dict():
            return {
                key.removeprefix("known-"): known[value] if key.startswith("known-") else _filled(value, known)
                for key, value in node.items()
            }
        case list():
            return [_filled(each, known) for each in node]
        case _:
            return node
