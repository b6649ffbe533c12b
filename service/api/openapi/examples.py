"""Examples of answers in the OpenAPI document, composed from their schemas.

They show the form of an answer; their numbers are of no request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Schemas: TypeAlias = Mapping[str, Any]

# name of a field, also behind that of its schema -> a usual value; others are composed from their types
_VALUES: Mapping[str, Any] = {
    "a": 0,
    "b": 1,
    "base": 1.2,
    "bonus": 0.08,
    "bytes_per_document": 4980.0,
    "changed": 1,
    "checked": 80,
    "code": "empty_text",
    "collection": "default",
    "combined": 0.7212,
    "contribution": 0.2991,
    "count": 80,
    "created": 1790000000,
    "data": "unlabeled",
    "deleted": 1,
    "detail": "it has no visible character",
    "difference": 0.0311,
    "digest": "8b3f0c1d2e4a",
    "dim": 384,
    "distinct": 5,
    "documents": 80,
    "embedded": 80,
    "embedding": [0.0123, -0.0456],
    "embeddings": [[0.0123, -0.0456]],
    "end": 8,
    "error": 0.02,
    "explained": [0.12, 0.08],
    "field": "category",
    "id": "shipping-001",
    "index": 0,
    "input_tokens": 9,
    "kept_tokens": 12,
    "left": 0,
    "like": "shipping-002",
    "log_odds": 2.3,
    "max_tokens": 256,
    "measure": "rcmd_words",
    "metadata": {"category": "shipping"},
    "model": "minilm-graded",
    "modified_at": "2026-11-30T12:00:00Z",
    "name": "default",
    "omitted": 0.0,
    "pairs": 1500,
    "paraphrases": [0.72, 0.95],
    "place": "line 2",
    "pointer": "/query",
    "precision": "float32",
    "prompt_tokens": 9,
    "random": [-0.03, 0.21],
    "read_end": 18,
    "read_start": 0,
    "reason": "there is no such folder",
    "reference": "rcmd",
    "related": [0.35, 0.68],
    "relevance_score": 0.8206,
    "rest": 0.0755,
    "score": 0.6412,
    "scores": [0.6412],
    "share": 0.62,
    "similarity": 0.8301,
    "space": "8b3f0c1d2e4a",
    "special": 0.0102,
    "start": 0,
    "summary": "Cosine of two vectors.",
    "terms": ["parcel", "shipment"],
    "text": "shipment",
    "text_fields": ["body"],
    "texts": ["Where is my order?"],
    "token_strings": ["where", "is"],
    "tokens": 9,
    "total_duration": 8000000,
    "total_tokens": 9,
    "upserted": 1,
    "value": "shipping",
    "version": "5f3a9c01d2e4:17:c4d1f09e",
    "warnings": [],
    "x": 0.12,
    "y": -0.05,
    "Alias.name": "current",
    "ApiVersion.version": "2",
    "CacheEntry.id": "5c7d",
    "CacheStored.id": "5c7d",
    "CohereEmbedResponse.id": "5c7d",
    "Collection.index": "auto",
    "Collection.truncated": 0,
    "Duplicate.text": "Where is my order?",
    "EncodedEmbedding.index": 0,
    "FileContent.name": "hours.csv",
    "FileDocument.text": "When are you open on Sundays?",
    "Hit.end": 54,
    "Hit.text": "Track a shipment with its number if it did not arrive.",
    "MapPoint.text": "Where is my order?",
    "Measure.name": "cosine",
    "Model.loaded": True,
    "Model.similarity": "cosine",
    "Model.name": "minilm-graded",
    "ModelCard.id": "minilm-graded",
    "ModelCard.name": "minilm-graded",
    "OllamaModel.name": "minilm-graded",
    "OllamaVersion.version": "0.1.0",
    "PooledText.data": [[0.0123, -0.0456]],
    "PooledText.shape": [1, 2],
    "ReadDocument.text": "Where is my order?",
    "Refusal.id": "5c7d",
    "RefusedModel.name": "mine",
    "Side.text": "Where is my parcel?",
    "Stored.truncated": [],
    "StoredDocument.text": "Where is my order?",
    "Suggestion.text": "shipment",
    "TeiInfo.max_batch_tokens": 16384,
    "TeiInfo.max_client_batch_size": 4096,
    "TeiInfo.max_concurrent_requests": 512,
    "TeiInfo.max_input_length": 256,
    "TeiInfo.model_id": "minilm-graded",
    "TeiInfo.served_model_name": "minilm-graded",
    "TeiInfo.version": "0.1.0",
    "TeiPooling.pooling": "mean",
    "TeiToken.id": 2073,
    "TeiToken.text": "where",
}
_PROBLEM: Mapping[str, Any] = {
    "type": "about:blank",
    "title": "Empty text",
    "status": 422,
    "code": "empty_text",
    "detail": "/query: it has no visible character",
    "errors": [{"pointer": "/query", "code": "empty_text", "detail": "it has no visible character"}],
}
_BY_TYPE: Mapping[str, Any] = {
    "string": "text",
    "number": 0.5,
    "integer": 1,
    "boolean": False,
    "null": None,
    "object": {},
}
_PYTHON: Mapping[str, Any] = {
    "string": str,
    "number": int | float,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
}


def add_examples(described: dict[str, Any]) -> None:
    """Add an example to each answer in JSON, to errors, and to bodies that may be left out."""
    schemas = described["components"]["schemas"]
    schemas["ProblemDetails"]["examples"] = [_PROBLEM]
    for operations in described["paths"].values():
        for operation in operations.values():
            answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
            for content in filter(None, (each.get("content", {}).get("application/json") for each in answers)):
                content.setdefault("example", example_of(content["schema"], schemas))
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "anyOf" in body.get("schema", {}):
                body.setdefault("example", example_of(body["schema"], schemas))


def example_of(schema: Mapping[str, Any], schemas: Schemas, name: str = "", owner: str = "") -> Any:
    """A value of a schema, of the field `name`, without what a plain request leaves out.

    >>> example_of({"type": "array", "items": {"type": "integer"}}, {}, "index")
    [0]
    """
    if "$ref" in schema:
        referred = schema["$ref"].rpartition("/")[2]
        return example_of(schemas[referred], schemas, name, referred)
    for known in ("const", "default"):
        if known in schema:
            return schema[known]
    for several in ("examples", "enum"):
        if several in schema:
            return schema[several][0]
    if {"type": "null"} in schema.get("anyOf", ()) and name not in _VALUES:
        return None
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], schemas, name)
    return _of_type(schema, schemas, name, owner)


def _of_type(schema: Mapping[str, Any], schemas: Schemas, name: str, owner: str) -> Any:
    kind = schema.get("type")
    if name in _VALUES and isinstance(_VALUES[name], _PYTHON.get(str(kind), object)):
        return _VALUES[name]
    if "properties" in schema:
        shown = {
            field: own
            for field, own in schema["properties"].items()
            if field in schema.get("required", ()) or "default" in own
        }
        return {field: example_of(own, schemas, _key(owner, field)) for field, own in shown.items()}
    if "prefixItems" in schema:
        return [example_of(each, schemas) for each in schema["prefixItems"]]
    if kind == "array":
        return [example_of(schema.get("items", {}), schemas, name)]
    return _BY_TYPE.get(str(kind))


def _key(owner: str, field: str) -> str:
    return own if (own := f"{owner}.{field}") in _VALUES else field
