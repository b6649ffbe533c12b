"""Paths, bodies and documents of calls, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

from semblance_client.steps import Call, Request
from semblance_client.vocabulary.documents import Document
from semblance_client.vocabulary.responses import ResponseBody

T = TypeVar("T")
A = TypeVar("A", bound=ResponseBody)
NewDocument: TypeAlias = Document | Mapping[str, Any]
FacetCounts: TypeAlias = int | Sequence[Mapping[str, float | str]]
"""Most values of a metadata field, or ranges of values to count."""


def as_json(document: NewDocument) -> Mapping[str, Any]:
    """A document as JSON has it.

    >>> as_json(StoredDocument(id="1", text="A text.", truncated=False))
    {'id': '1', 'text': 'A text.', 'metadata': {}}
    """
    if isinstance(document, Mapping):
        return document
    if isinstance(document, Document):
        return document.model_dump(include={"id", "text", "metadata"})
    raise TypeError(f"a document is a Document or a dictionary, not of the type {type(document).__name__}")


def json_bytes(body: object) -> bytes:
    """A value as JSON. NaN and infinity are sent, and rejected by the service with their place.

    Raises:
        TypeError: a value in it is of a type that JSON does not have.
    """
    try:
        return json.dumps(body, ensure_ascii=False, default=_plain).encode()
    except UnicodeEncodeError:  # a lone surrogate, which the service will reject
        return json.dumps(body, default=_plain).encode()


def _plain(value: object) -> object:
    """A number or array of NumPy, or a date, as JSON has it.

    >>> from datetime import date
    >>> _plain(date(2026, 11, 27))
    '2026-11-27'
    """
    for name in ("isoformat", "tolist"):
        if callable(convert := getattr(value, name, None)):
            return convert()
    raise TypeError(
        f"{value!r:.100} of the type {type(value).__name__} cannot be sent: give text, a number, a boolean, None, "
        "a date, a list or a dictionary"
    )


def documents_path(collection: str) -> str:
    """Path of the documents of a collection."""
    return f"{collection_path(collection)}/documents"


def fields(**fields: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def facets(counted: Mapping[str, FacetCounts] | None) -> list[dict[str, Any]] | None:
    """Facets as a request has them: most values of a field, or ranges."""
    if not counted:
        return None
    return [
        {"field": field, "values": of} if isinstance(of, int) else {"field": field, "values": 0, "ranges": list(of)}
        for field, of in counted.items()
    ]


def sort(field: str | None, *, descending: bool) -> dict[str, Any] | None:
    """An order by a metadata field as a request has it."""
    return None if field is None else {"field": field, "descending": descending}


def request(method: str, path: str, body: object = None) -> Request:
    """A request with a JSON body, if any."""
    return Request(method, path, None if body is None else json_bytes(body))


def collection_path(name: str) -> str:
    """Path of a collection."""
    return f"/collections/{_segment(name)}"


def cache_path(name: str) -> str:
    """Path of a semantic cache."""
    return f"/caches/{_segment(name)}"


def alias_path(name: str) -> str:
    """Path of an alias."""
    return f"/aliases/{_segment(name)}"


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


def pairs(given: str | Iterable[object], b: str | None) -> list[dict[str, str]]:
    """Pairs of texts as they are sent: those given, or a text with `b`. Raises TypeError."""
    return [_pair(each) for each in (given if b is None else [(given, b)])]


def _pair(texts: object) -> dict[str, str]:
    if not isinstance(texts, str) and isinstance(texts, Iterable):
        both = list(texts)
        if len(both) == 2 and all(isinstance(each, str) for each in both):
            return {"a": both[0], "b": both[1]}
    raise TypeError(
        'give two texts, or pairs, which are a list such as [("a text", "another text")] or zip(left, right) of two '
        f"lists; one pair is {texts!r:.100}"
    )
