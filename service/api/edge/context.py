"""The state of a request that its middlewares share."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from opentelemetry.trace import Tracer
from starlette.responses import Response
from starlette.types import Scope

from semblance.service.api.errors import problem
from semblance.service.api.paths import DOCUMENTS, canonical_path
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.stages import StageTimes, start_stages

RawHeader: TypeAlias = tuple[bytes, bytes]

IDENTITY, GZIP = "identity", "gzip"

_KEY = "semblance"  # in the scope of a request
_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_DOCUMENTS = re.compile(DOCUMENTS.replace("{name}", "[^/]+"))
_NDJSON = re.compile(r"application/(x-)?(ndjson|jsonl|jsonlines|json-lines)\s*(;.*)?", re.IGNORECASE)
_ANY_TYPE = re.compile(r"/api/\w+")  # Ollama's server looks at no content type, and curl alone declares a form


@dataclass(slots=True)
class RequestContext:
    """State of one request.

    Attributes:
        id: sent by the client, or made here.
        method: of the request.
        path: never with the query string, which may hold texts.
        headers: by name; of repeated headers, the first.
        streamed: whether it sends documents as NDJSON, of any length. Body limits and route use this same decision: if
            the route judged again, an unlimited body might be read as a whole.
        stages: their times.
        began: when, by `time.perf_counter`.
        status: of the response, once it has begun.
        caller: the name of its key; empty without one.
    """

    id: str
    method: str
    path: str
    headers: Mapping[str, str]
    streamed: bool
    stages: StageTimes
    began: float = field(default_factory=time.perf_counter)
    status: int = 0
    caller: str = ""

    @classmethod
    def enter(cls, scope: Scope, tracer: Tracer) -> RequestContext:
        """The context of a request that has arrived, which its scope then holds.

        A body without a content type is JSON, as scripts send it, and on Ollama's routes one of any type, unless a
        browser sends it. A page of any site may send a form, or text, to this machine without a permission (the
        preflight that `application/json` requires), and a form of the type `text/plain` can hold JSON. But the browser
        then adds `Origin`, and no page can prevent that: with it, only JSON that is declared as such is read. Should a
        browser that adds nothing be there after all, then Ollama's routes change nothing, and hide their response
        from the page.
        """
        scope["path"] = canonical_path(scope["path"])
        headers = _by_name(scope["headers"])
        if _is_undeclared_json(scope["path"], headers):
            others = [header for header in scope["headers"] if header[0] != b"content-type"]
            scope["headers"] = [*others, (b"content-type", b"application/json")]
            headers = _by_name(scope["headers"])
        proposed = headers.get("x-request-id", "")
        context = cls(
            id=proposed if _REQUEST_ID.fullmatch(proposed) else f"{random.getrandbits(128):032x}",  # no secret
            method=scope["method"],
            path=scope["path"],
            headers=headers,
            streamed=_is_stream(scope["method"], scope["path"], headers),
            stages=start_stages(tracer),
        )
        scope[_KEY] = context
        return context

    @property
    def has_body(self) -> bool:
        """Whether its headers announce a body."""
        return has_body(self.headers)

    @property
    def encoding(self) -> str:
        """The encoding of its body: `identity`, `gzip`, or another one, which is not supported."""
        named = self.headers.get("content-encoding", "").strip().lower() or IDENTITY
        return GZIP if named == "x-gzip" else named


def context_of(scope: Mapping[str, Any]) -> RequestContext:
    """The context of a request. Raises KeyError outside of the middlewares."""
    return cast("RequestContext", scope[_KEY])


def rejection(metrics: Metrics, status: int, code: str, detail: str) -> Response:
    """The response to a request that is rejected before its route, which is counted."""
    metrics.errors.labels(code).inc()
    return problem(status, code, detail)


def has_body(headers: Mapping[str, str]) -> bool:
    """Whether headers announce a body."""
    return headers.get("content-length", "0") not in ("", "0") or "transfer-encoding" in headers


def is_documents(path: str) -> bool:
    """Whether a path is that of all documents of a collection.

    >>> is_documents("/collections/faq/documents"), is_documents("/collections/faq/documents/1")
    (True, False)
    """
    return _DOCUMENTS.fullmatch(path) is not None


def _by_name(headers: Sequence[RawHeader]) -> Mapping[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(headers)}


def _is_undeclared_json(path: str, headers: Mapping[str, str]) -> bool:
    """Whether a body is taken for JSON, whatever its content type."""
    free = "content-type" not in headers or _ANY_TYPE.fullmatch(path) is not None
    return free and has_body(headers) and not _is_from_browser(headers)


def _is_from_browser(headers: Mapping[str, str]) -> bool:
    """Whether a request has a header by which browsers tell whose page it is from."""
    return "origin" in headers or "sec-fetch-site" in headers


def _is_stream(method: str, path: str, headers: Mapping[str, str]) -> bool:
    declared = _NDJSON.fullmatch(headers.get("content-type", ""))
    return method == "POST" and declared is not None and is_documents(path)
