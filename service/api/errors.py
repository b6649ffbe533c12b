"""Where errors meet HTTP: one table, and the shape of RFC 9457."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from semblance.models.errors import NotExplainable, SemblanceError
from semblance.service import errors, names
from semblance.service.api.openai_shape import ErrorAnswer, Refusal
from semblance.service.observability.metrics import Metrics

MEDIA_TYPE = "application/problem+json"

# error class -> status; its code is the class's own
STATUS: Mapping[type[SemblanceError], int] = {
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.InvalidRequest: 422,
    errors.UnknownMeasure: 422,
    NotExplainable: 422,
    errors.UnknownModel: 404,
    errors.UnknownCollection: 404,
    errors.UnknownDocument: 404,
    errors.CollectionDiffers: 409,
    errors.SpaceMismatch: 409,
    errors.VersionMismatch: 409,
    errors.RolloverDiffers: 409,
    errors.NoRollover: 409,
    errors.RolloverUnfinished: 409,
    errors.WriteConflict: 409,
    errors.TooManyTokens: 413,
    errors.Overloaded: 429,
    errors.VersionNotReached: 503,
    errors.StoreUnavailable: 503,
    errors.ModelLoading: 503,
    errors.ModelUnavailable: 503,
    errors.NotReady: 503,
}

# what pydantic calls a finding -> our code; those that our own validators raise pass, all others are invalid_value
_VALIDATION_CODES: Mapping[str, str] = {
    "missing": "missing_field",
    "extra_forbidden": "unknown_field",
    "string_unicode": "ill_formed_text",
    "string_pattern_mismatch": "bad_name",
    "greater_than_equal": "out_of_range",
    "less_than_equal": "out_of_range",
    "too_short": "out_of_range",
    "too_long": "out_of_range",
    "string_too_short": "out_of_range",
    "string_too_long": "out_of_range",
    "finite_number": "not_finite",
}

_MESSAGES: Mapping[str, str] = {
    "model_attributes_type": "it must be an object, such as {...}",
    "extra_forbidden": "there is no such field",
    "missing": "it is required",
    "string_type": "it must be a string",
    "list_type": "it must be a list",
    "too_short": "it must not be empty",
    "string_too_short": "it must not be empty",
    "string_pattern_mismatch": names.RULE,
}

# codes that no class of ours carries -> status and when: findings in a request, and what the framework refuses
OTHER_CODES: Mapping[str, tuple[int, str]] = {
    "malformed_http": (400, "What was sent is not a request of HTTP/1.1; the connection is closed"),
    "malformed_json": (400, "The body is not JSON"),
    "unknown_route": (404, "There is no such path"),
    "method_not_allowed": (405, "The path exists, but not with this method"),
    "not_acceptable": (406, "None of the formats in the Accept header can be made"),
    "body_timeout": (
        408,
        "The body paused for longer than SEMBLANCE_BODY_PAUSE_S, or was not there within SEMBLANCE_BODY_TIMEOUT_S",
    ),
    "body_too_large": (
        413,
        "The body, or a line of NDJSON, has more bytes than SEMBLANCE_MAX_BODY_BYTES, or more than 100,000 values",
    ),
    "unsupported_media_type": (
        415,
        "The body is not declared as application/json; documents may also come as application/x-ndjson",
    ),
    "bad_cursor": (422, "A cursor that no page gave"),
    "bad_filter": (422, "A filter that does not follow the grammar in docs/search.md"),
    "bad_id": (422, "A document id with control characters, or with '.' or '..' between slashes"),
    "bad_name": (422, "A collection name with other characters than a-z, 0-9, '.', '_' and '-'"),
    "bad_version": (422, "A version that no answer gave"),
    "duplicate_id": (422, "The same document id twice in one request"),
    "empty_text": (422, "A text without any visible character, or of which no token is left"),
    "ill_formed_text": (422, "A string with NUL or a lone surrogate"),
    "invalid_value": (422, "A value of another type than the schema says, or not among those it lists"),
    "metadata_too_deep": (422, "Metadata nested more than 8 deep"),
    "metadata_too_large": (422, "Metadata of more than 65,536 characters as JSON"),
    "missing_field": (422, "A field without a default is not given"),
    "not_finite": (422, "NaN or infinity where a number is stored or compared"),
    "out_of_range": (422, "A number or a list outside its limits"),
    "text_too_long": (
        422,
        "More characters than SEMBLANCE_MAX_TEXT_CHARS, or more tokens than the model takes with truncate NONE",
    ),
    "token_arrays_not_supported": (422, "Numbers of tokens instead of texts, under /v1/: send the texts"),
    "unknown_field": (422, "A field that the schema does not have"),
    "unknown_index": (422, "There is no such index engine"),
    "headers_too_large": (
        431,
        "The request line and headers, or trailers, exceed SEMBLANCE_MAX_HEADER_BYTES; the connection is closed",
    ),
    "internal_error": (500, "Something failed here; the log knows it by the request id"),
}

FRAMEWORK_CODES: Mapping[int, str] = {
    status: code for code, (status, _) in OTHER_CODES.items() if status not in (422, 500)
}

RETRY_AFTER_S = 1
MAX_PARTS = 100  # refused parts that one answer names
MAX_STEP = 100  # characters of a name in a pointer: one that no schema knows may be as long as the body
MAX_DETAIL = 500


class ProblemPart(BaseModel):
    """One refused part of the request."""

    pointer: str = Field(
        description="JSON pointer into the body; a query parameter stands as if it were a field of one."
    )
    code: str
    detail: str


class ProblemDetails(BaseModel):
    """RFC 9457 problem details."""

    type: str = "about:blank"
    title: str
    status: int
    code: str = Field(description="Stable; programs may rely on it.")
    detail: str
    errors: list[ProblemPart] = Field(default=[], description="The refused parts; the first 100 if there are more.")


def problem(
    status: int, code: str, detail: str, parts: Sequence[errors.Problem] = (), retry_after_s: int = RETRY_AFTER_S
) -> Response:
    """An answer that says what was wrong, in OpenAI's shape where the request's path is under /v1/."""
    body = ProblemDetails(
        title=code.replace("_", " ").capitalize(),
        status=status,
        code=code,
        detail=detail,
        errors=[ProblemPart(pointer=p.pointer, code=p.code, detail=p.detail) for p in parts[:MAX_PARTS]],
    )
    headers = {"retry-after": str(retry_after_s)} if status in (429, 503) else {}
    return Refusal(body.model_dump(), ErrorAnswer.of(status, code, detail, parts), status, headers, MEDIA_TYPE)


def install(app: FastAPI, metrics: Metrics, routes: Sequence[BaseRoute]) -> None:
    """Have every error of `app`, with all its routes, answered as a problem."""

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, SemblanceError)
        parts = error.problems if isinstance(error, errors.InvalidRequest) else ()
        code = _common_code(parts) or error.code
        metrics.errors.labels(code).inc()
        wait_s = error.retry_after_s if isinstance(error, errors.Overloaded) else RETRY_AFTER_S
        return problem(_status(error), code, str(error), parts, wait_s)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found = error.errors()[:MAX_PARTS]
        parts = [part_of({**each, "loc": each["loc"][1:]}) for each in found]  # "body" or "query" stands first
        if found[0]["type"] == "json_invalid":
            metrics.errors.labels("malformed_json").inc()
            return problem(
                400, "malformed_json", f"the body is not valid JSON, from character {found[0]['loc'][-1]} on"
            )
        code = _common_code(parts) or "invalid_request"
        metrics.errors.labels(code).inc()
        return problem(422, code, f"{parts[0].pointer}: {parts[0].detail}".removeprefix(": "), parts)

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = FRAMEWORK_CODES.get(error.status_code, "http_error")
        metrics.errors.labels(code).inc()
        allowed = ", ".join(_methods(routes, request.scope))
        details = {404: "there is no such path: see /docs", 405: f"this path takes {allowed}"}
        answer = problem(error.status_code, code, details.get(error.status_code, str(error.detail)))
        answer.headers.update(error.headers or {})
        if error.status_code == 405:
            answer.headers["allow"] = allowed
        return answer

    metrics.expect(_served(routes), [*(leaf.code for leaf in STATUS), *OTHER_CODES])
    for leaf in STATUS:
        app.add_exception_handler(leaf, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, framework)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route documents that it may answer beside its success."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {
        status: {"description": ", ".join(f"`{code}`" for code in codes_of(status)), "content": content}
        for status in sorted(statuses)
    }


def codes_of(status: int) -> list[str]:
    """The codes that go with a status."""
    own = [leaf.code for leaf, its_status in STATUS.items() if its_status == status]
    return own + [code for code, (its_status, _) in OTHER_CODES.items() if its_status == status]


def _methods(routes: Sequence[BaseRoute], scope: Scope) -> list[str]:
    """All methods of a path, which may be spread over several routes."""
    matching = [route for route in routes if route.matches(scope)[0] is not Match.NONE]
    return sorted({method for route in matching for method in getattr(route, "methods", None) or ()})


def _served(routes: Sequence[BaseRoute]) -> list[tuple[str, str]]:
    return [(route.path, method) for route in routes if isinstance(route, Route) for method in route.methods or ()]


def _status(error: SemblanceError) -> int:
    return next(status for leaf, status in STATUS.items() if isinstance(error, leaf))


def _common_code(parts: Sequence[errors.Problem]) -> str | None:
    codes = {part.code for part in parts}
    return codes.pop() if len(codes) == 1 else None


def part_of(given: Mapping[str, Any]) -> errors.Problem:
    """A finding of pydantic, without the value that it found, which may be large or not UTF-8; long names are cut."""
    steps = (_cut(str(step), MAX_STEP) for step in given["loc"])
    pointer = "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
    return errors.Problem(pointer, _code(given["type"]), _cut(_MESSAGES.get(given["type"], given["msg"]), MAX_DETAIL))


def _cut(text: str, most: int) -> str:
    """Its beginning, if it is too long.

    >>> _cut("abcd", 4), _cut("abcde", 4)
    ('abcd', 'abc…')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def _code(type_: str) -> str:
    return _VALIDATION_CODES.get(
        type_, type_ if type_ in OTHER_CODES or type_ == "invalid_request" else "invalid_value"
    )
