"""Paths, bodies and documents of calls, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

from semblance_client.steps import Call, Request
from semblance_client.vocabulary.documents import Document
from semblance_client.vocabulary.responses import ResponseBody

T = TypeVar("T")
A = TypeVar("A", bound=ResponseBody)
NewDocument: TypeAlias = Document | Mapping[str, Any]


def as_json(document: NewDocument) -> Mapping[str, Any]:
    """A document as JSON has it.

    >>> as_json(StoredDocument(id="1", text="A text.", truncated=False))
    {'id': '1', 'text': 'A text.', 'metadata': {}}
    """
    return document if isinstance(document, Mapping) else document.model_dump(include={"id", "text", "metadata"})


def json_bytes(body: object) -> bytes:
    """A value as JSON."""
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate, which the service will reject
        return json.dumps(body).encode()


def documents_path(collection: str) -> str:
    """Path of the documents of a collection."""
    return f"{collection_path(collection)}/documents"


def fields(**fields: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def facets(values: Mapping[str, int] | None) -> list[dict[str, Any]] | None:
    """Facets as a request has them."""
    return [{"field": field, "values": most} for field, most in values.items()] if values else None


def request(method: str, path: str, body: object = None) -> Request:
    """A request with a JSON body, if any."""
    return Request(method, path, None if body is None else json_bytes(body))


def collection_path(name: str) -> str:
    """Path of a collection."""
    return f"/collections/{_segment(name)}"


def document_path(collection: str, id_: str) -> str:
    """Path of a document."""
    return f"{documents_path(collection)}/{_segment(id_)}"


def _segment(name: str) -> str:
    """A name as a segment of a path.

    >>> _segment("a/b")
    'a%2Fb'

    Raises:
        ValueError: it is empty, or dots, which would lead to another path, such as that of the whole collection.
    """
    if name in ("", ".", ".."):
        raise ValueError(f"{name!r} cannot be part of an address: it would name another path")
    return quote(name, safe="")


def get(path: str, parse: Callable[[bytes], T]) -> Call[T]:
    """A call that reads."""
    return Call(Request("GET", path), parse)


def post(path: str, body: object, answer: type[A]) -> Call[A]:
    """A call that sends a query."""
    return Call(request("POST", path, body), answer.model_validate_json)


def nothing(body: bytes) -> None:
    """A response without a body."""
    del body
