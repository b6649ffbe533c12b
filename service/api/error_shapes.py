"""Errors in the shapes that clients of other services' APIs expect."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field
from semblance_client.vocabulary.described import Described
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from semblance.service.api.formats import PICTURE_HEADERS, prefers_page
from semblance.service.api.playground_links import playground_address
from semblance.service.errors import Problem, messages_of
from semblance.service.rendering.html.refusal import render_refusal

SHOWN = 10  # kinds of problems in one message
MAX_PARTS = 100  # rejected parts in one response
PARTS = "The refused parts; the first 100 if there are more."
FIELDS = "fields"  # in the scope of a request: the fields of its body, once this has been read

_OPENAI_PATHS = re.compile(r"/v[12](/.*)?|/openai/.*|/rerank|/score|/pooling", re.DOTALL)
_OLLAMA_PATHS = re.compile(r"/api/.*", re.DOTALL)
_TEI_PATHS = ("/", "/embed", "/embed_all", "/tokenize", "/decode", "/info", "/health")
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_TEI_FIELDS = {"/rerank": "texts", "/similarity": "inputs"}  # path -> the field by which a request is TEI's


@dataclass(frozen=True, slots=True)
class Refused:
    """A rejected request: status, stable code, detail, and the parts at fault."""

    status: int
    code: str
    detail: str
    parts: Sequence[Problem]

    @property
    def title(self) -> str:
        """The code in words."""
        return self.code.replace("_", " ").capitalize()

    @property
    def details(self) -> list[str]:
        """A message for each kind of problem of the rejected parts, or for the whole."""
        return messages_of(self.parts) or [self.detail]

    @property
    def shown(self) -> list[str]:
        """The first of the details, and how many there are besides."""
        first, rest = self.details[:SHOWN], self.details[SHOWN:]
        return [*first, f"and {len(rest):,} more"] if rest else first

    @property
    def message(self) -> str:
        """The same on one line."""
        return "; ".join(self.shown)


def _type_of(status: int) -> str:
    """The type by which LiteLLM, for one, chooses the exception that it raises."""
    return "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")


class ProblemPart(Described):
    """One rejected part of the request."""

    pointer: str = Field(description="JSON pointer into the body; query parameters are named like fields of a body.")
    code: str
    """Stable; programs may rely on it."""
    detail: str
    """What is wrong, in words."""


def parts_of(problems: Sequence[Problem]) -> list[ProblemPart]:
    """The rejected parts that a response lists."""
    return [ProblemPart(pointer=part.pointer, code=part.code, detail=part.detail) for part in problems[:MAX_PARTS]]


class ErrorOut(Described):
    """The error."""

    message: str
    """What is wrong, in words."""
    type: str = Field(
        description="By the status: `authentication_error` (401), `permission_error` (403), `not_found_error` (404), "
        "`rate_limit_error` (429), `server_error` (500 and above), otherwise `invalid_request_error`."
    )
    param: str | None = Field(description="The refused field of the body, if it is one.")
    code: str = Field(description="Stable; programs may rely on it.")


class ErrorAnswer(Described):
    """An error that clients of several APIs can read.

    `error` is as in OpenAI's API, vLLM's and infinity's, `message` as in Cohere's, `detail` as in Jina's.
    """

    error: ErrorOut
    """The error as in OpenAI's API."""
    message: str
    """What is wrong, as in Cohere's API."""
    detail: str = Field(description="The same.")
    code: str
    """Stable; programs may rely on it."""
    errors: list[ProblemPart] = Field(default=[], description=PARTS)

    @classmethod
    def of(cls, refused: Refused) -> Self:
        """The error in this shape."""
        pointer = refused.parts[0].pointer if refused.parts else ""
        error = ErrorOut(
            message=refused.message,
            type=_type_of(refused.status),
            param=pointer.split("/")[1] or None if pointer else None,
            code=refused.code,
        )
        message, parts = refused.message, parts_of(refused.parts)
        return cls(error=error, message=message, detail=message, code=refused.code, errors=parts)


class TeiErrorAnswer(Described):
    """An error in the shape of Text Embeddings Inference."""

    error: str
    """What is wrong."""
    error_type: Literal["Validation", "Overloaded", "Unhealthy", "Backend"]
    """Kind of the error, as TEI names it."""
    code: str = Field(description="Stable; programs may rely on it.")

    @classmethod
    def of(cls, refused: Refused) -> Self:
        """The error in this shape."""
        types: Mapping[int, Any] = {429: "Overloaded", 500: "Backend", 503: "Unhealthy"}
        error_type = types.get(refused.status, "Validation")
        return cls(error=refused.message, error_type=error_type, code=refused.code)


class OllamaErrorAnswer(Described):
    """An error in the shape of Ollama."""

    error: str
    """What is wrong."""
    code: str = Field(description="Stable; programs may rely on it.")

    @classmethod
    def of(cls, refused: Refused) -> Self:
        """The error in this shape."""
        return cls(error=refused.message, code=refused.code)


Shape = type[ErrorAnswer] | type[TeiErrorAnswer] | type[OllamaErrorAnswer]


def shape_of(scope: Mapping[str, Any]) -> Shape | None:
    """The shape of error responses to a request; None for our own.

    >>> shape_of({"path": "/v1/embeddings"}), shape_of({"path": "/search"})
    (<class 'semblance.service.api.error_shapes.ErrorAnswer'>, None)
    """
    path = scope["path"]
    if path in _TEI_PATHS or (path in _TEI_FIELDS and _TEI_FIELDS[path] in scope.get(FIELDS, ())):
        return TeiErrorAnswer
    if _OLLAMA_PATHS.fullmatch(path):
        return OllamaErrorAnswer
    return ErrorAnswer if _OPENAI_PATHS.fullmatch(path) else None


def shapes_of(path: str) -> tuple[Shape | None, ...]:
    """The shapes of the errors of a path; two paths of ours serve TEI's requests, too.

    >>> [shape and shape.__name__ for shape in shapes_of("/similarity")]
    [None, 'TeiErrorAnswer']
    """
    return (shape_of({"path": path}), *((TeiErrorAnswer,) if path in _TEI_FIELDS else ()))


def status_in(shape: Shape | None, status: int) -> int:
    """The status in a shape of a problem with `status`.

    Clients of OpenAI's and Cohere's APIs raise BadRequestError for 400, which Ollama sends as well.

    >>> status_in(ErrorAnswer, 422), status_in(ErrorAnswer, 404), status_in(None, 422)
    (400, 404, 422)
    """
    return 400 if status == 422 and shape in (ErrorAnswer, OllamaErrorAnswer) else status


class Refusal(Response):
    """An error response, in the shape of its route."""

    def __init__(
        self, problem: Mapping[str, Any], refused: Refused, headers: Mapping[str, str], media_type: str
    ) -> None:
        self._refused = refused
        super().__init__(_ascii(problem), refused.status, headers, media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response; only this method chooses between the shapes."""
        if scope["method"] == "GET" and prefers_page(Request(scope)):
            self._send_as("text/html; charset=utf-8", self._page(scope))
            self.headers.update(PICTURE_HEADERS)
        elif shape := shape_of(scope):
            self.status_code = status_in(shape, self.status_code)
            self._send_as("application/json", _ascii(shape.of(self._refused).model_dump()))
        if scope["method"] == "GET":
            self.headers["vary"] = "accept"
        await super().__call__(scope, receive, send)

    def _send_as(self, content_type: str, body: bytes) -> None:
        self.body = body
        self.headers["content-length"] = str(len(body))
        self.headers["content-type"] = content_type

    def _page(self, scope: Scope) -> bytes:
        refused = self._refused
        playground = playground_address(scope["path"], scope["query_string"].decode("latin-1"))
        return render_refusal(refused.status, refused.title, refused.shown, playground).encode("utf-8", "replace")


def _ascii(content: Mapping[str, Any]) -> bytes:
    """JSON in ASCII: a detail may repeat a name with lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(content).encode("ascii")
