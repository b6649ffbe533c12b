"""Map errors to HTTP statuses in one table, and send them as RFC 9457 problem details."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import Field
from semblance_client.vocabulary.described import Described
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from semblance.models.errors import NotExplainable, SemblanceError, UnknownMeasure
from semblance.service import errors, names
from semblance.service.api.error_shapes import FIELDS, PARTS, ProblemPart, Refusal, Refused, parts_of
from semblance.service.api.paths import other_path, unknown_path
from semblance.service.api.unknown_fields import unknown_field
from semblance.service.observability.metrics import Metrics

MEDIA_TYPE = "application/problem+json"

# error class -> status; its code is the class's own
STATUS: Mapping[type[SemblanceError], int] = {
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.ForbiddenDocuments: 403,
    errors.InvalidRequest: 422,
    errors.EncodingFailed: 503,
    UnknownMeasure: 422,
    NotExplainable: 422,
    errors.NotWithRemoteIndex: 422,
    errors.UnknownModel: 404,
    errors.UnknownCollection: 404,
    errors.UnknownDocument: 404,
    errors.UnknownAlias: 404,
    errors.CollectionDiffers: 409,
    errors.AliasConflict: 409,
    errors.DocumentChanged: 409,
    errors.SpaceMismatch: 409,
    errors.VersionMismatch: 409,
    errors.ReembeddingDiffers: 409,
    errors.NoReembedding: 409,
    errors.ReembeddingUnfinished: 409,
    errors.WriteConflict: 409,
    errors.TooManyTokens: 413,
    errors.Overloaded: 429,
    errors.VersionNotReached: 503,
    errors.StoreUnavailable: 503,
    errors.IndexUnavailable: 503,
    errors.StoreFull: 503,
    errors.StoreFailed: 503,
    errors.StoreDamaged: 503,
    errors.ModelLoading: 503,
    errors.ModelUnavailable: 503,
    errors.NotReady: 503,
}

# error type of pydantic -> our code; codes of our own validators pass through, all others become invalid_value
_VALIDATION_CODES: Mapping[str, str] = {
    "missing": "missing_field",
    "extra_forbidden": "unknown_field",
    "string_unicode": "ill_formed_text",
    "string_pattern_mismatch": "bad_name",
    "greater_than": "out_of_range",
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
    "missing": "it is required",
    "none_required": "it is not supported: leave it out",
    "string_type": "it must be a string",
    "list_type": "it must be a list",
    "too_short": "it must not be empty",
    "string_too_short": "it must not be empty",
    "string_pattern_mismatch": names.RULE,
}

# codes without an error class -> status and meaning: invalid parts of a request, and refusals by the framework
OTHER_CODES: Mapping[str, tuple[int, str]] = {
    "malformed_http": (
        400,
        "The bytes are no HTTP/1.1 request, or it has not exactly one Host header; the connection is closed",
    ),
    "malformed_json": (400, "The body is not JSON, or not the gzip that its Content-Encoding says"),
    "origin_not_allowed": (
        403,
        "A page in a browser sent it, whose origin is neither that of the service nor in SEMBLANCE_CORS_ORIGINS",
    ),
    "unknown_route": (404, "Unknown path"),
    "method_not_allowed": (405, "The path exists, but not with this method"),
    "not_acceptable": (406, "None of the formats in the Accept header is available"),
    "body_timeout": (
        408,
        "The body paused for longer than SEMBLANCE_BODY_PAUSE_S, or took longer than SEMBLANCE_BODY_TIMEOUT_S",
    ),
    "body_too_large": (
        413,
        "The body, or a line of NDJSON, has more bytes than SEMBLANCE_MAX_BODY_BYTES, or more than 100,000 values",
    ),
    "unsupported_content_encoding": (
        415,
        "The body has another encoding than gzip; send it compressed by gzip, or without Content-Encoding",
    ),
    "unsupported_media_type": (
        415,
        "The body is not declared as application/json; documents may also come as application/x-ndjson",
    ),
    "host_not_allowed": (421, "The Host header names neither this machine nor an entry of SEMBLANCE_ALLOWED_HOSTS"),
    "bad_cursor": (422, "A cursor that is not from a page of documents"),
    "bad_filter": (422, "A filter that does not follow the grammar in docs/search.md"),
    "bad_id": (422, "A document id with control characters, or with '.' or '..' between slashes"),
    "bad_name": (422, "A collection name with other characters than a-z, 0-9, '.', '_' and '-'"),
    "bad_version": (422, "A version that is not from an answer"),
    "duplicate_id": (422, "The same document id twice in one request"),
    "embedding_mismatch": (
        422,
        "The embedding of a document does not fit: another dimension, no unit vector, other token codes, or passages",
    ),
    "empty_text": (422, "A text without a visible character, or without a token"),
    "ill_formed_text": (422, "A string with NUL or a lone surrogate"),
    "invalid_value": (422, "A value of another type than the schema says, or not among those it lists"),
    "metadata_too_deep": (422, "Metadata nested more than 8 deep"),
    "metadata_too_large": (422, "Metadata of more than 65,536 characters as JSON"),
    "missing_field": (422, "A required field is missing"),
    "no_classifier": (422, "A model without a paraphrase classifier"),
    "not_calibrated": (422, "A least probability, and a measure without a calibration under the model"),
    "not_finite": (422, "NaN or infinity where a number is stored or compared"),
    "out_of_range": (422, "A number or a list outside its limits"),
    "reserved_field": (422, "Metadata of a cached answer under a name that the cache needs"),
    "text_field": (422, "A text field of the collection, which changes only with the whole document"),
    "text_too_long": (
        422,
        "More characters than SEMBLANCE_MAX_TEXT_CHARS, or where truncate is NONE more tokens than the model reads",
    ),
    "token_arrays_not_supported": (
        422,
        "Token ids where the route, the model or the installation reads only texts; send the texts",
    ),
    "unknown_field": (422, "A field that is not in the schema, or a query parameter that the route does not have"),
    "unknown_index": (422, "Unknown index engine"),
    "headers_too_large": (
        431,
        "The request line and headers, or trailers, exceed SEMBLANCE_MAX_HEADER_BYTES; the connection is closed",
    ),
    "internal_error": (500, "An internal error; the log has it under the request id"),
}

FRAMEWORK_CODES: Mapping[int, str] = {
    status: code for code, (status, _) in OTHER_CODES.items() if status not in (422, 500)
}

RETRY_AFTER_S = 1
MAX_DETAIL = 500


class ProblemDetails(Described):
    """RFC 9457 problem details."""

    type: str = "about:blank"
    """Always `about:blank`, as RFC 9457 names it."""
    title: str
    """The code in words."""
    status: int
    """Status of the response."""
    code: str = Field(description="Stable; programs may rely on it.")
    detail: str
    """What is wrong, in words."""
    errors: list[ProblemPart] = Field(default=[], description=PARTS)


def problem(
    status: int, code: str, detail: str, parts: Sequence[errors.Problem] = (), retry_after_s: int = RETRY_AFTER_S
) -> Response:
    """The response to a rejected or failed request, in the shape of its route."""
    refused = Refused(status, code, detail, parts)
    body = ProblemDetails(
        title=refused.title,
        status=status,
        code=code,
        detail=detail,
        errors=parts_of(parts),
    )
    headers = {"retry-after": str(retry_after_s)} if status in (429, 503) else {}
    return Refusal(body.model_dump(), refused, headers, MEDIA_TYPE)


def internal_error(request_id: str) -> str:
    """The message to a client about an unexpected error."""
    return f"internal error; see the log for request {request_id}"


def install(app: FastAPI, metrics: Metrics, routes: Sequence[BaseRoute]) -> None:
    """Send every error of `app`, which serves `routes`, as a problem."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, SemblanceError)
        parts = _parts(error, request.scope)
        code = _common_code(parts) or error.code
        metrics.errors.labels(code).inc()
        wait_s = error.retry_after_s if isinstance(error, errors.Overloaded) else RETRY_AFTER_S
        return problem(_status(error), code, str(error), parts, wait_s)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        details = error.errors()
        body = getattr(request.scope.get("route"), "body_field", None)
        kind = body and body.field_info.annotation
        parts = [
            part_of({**rejected, "loc": rejected["loc"][1:]}, kind) for rejected in details
        ]  # "body" or "query" comes first
        if details[0]["type"] == "json_invalid":
            metrics.errors.labels("malformed_json").inc()
            return problem(400, "malformed_json", f"the body is not valid JSON from character {details[0]['loc'][-1]}")
        code = _common_code(parts) or "invalid_request"
        metrics.errors.labels(code).inc()
        return problem(422, code, errors.messages_of(parts)[0], parts)

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if isinstance(error.__cause__, ClientDisconnect):  # FastAPI takes it for a fault of the body
            raise error.__cause__
        code = FRAMEWORK_CODES.get(error.status_code, "http_error")
        metrics.errors.labels(code).inc()
        allowed = ", ".join(_methods(routes, request.scope))
        answer = problem(error.status_code, code, _detail(error, request.scope["path"], paths, allowed))
        answer.headers.update(error.headers or {})
        if error.status_code == 405:
            answer.headers["allow"] = allowed
        return answer

    paths = [route for route in routes if isinstance(route, Route)]
    served = [(route.path, method) for route in paths for method in route.methods or ()]
    metrics.initialize(served, [*(leaf.code for leaf in STATUS), *OTHER_CODES])
    for leaf in STATUS:
        app.add_exception_handler(leaf, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, framework)


def _parts(error: SemblanceError, scope: Scope) -> Sequence[errors.Problem]:
    """The rejected parts of a request; of a measure, the field of the body that names it."""
    if isinstance(error, UnknownMeasure) and "measure" in scope.get(FIELDS, ("measure",)):
        return [errors.Problem("/measure", error.code, str(error))]
    return error.problems if isinstance(error, errors.PartsRefused | errors.UnknownDocument) else ()


def _detail(error: HTTPException, path: str, routes: Collection[Route], allowed: str) -> str:
    match error.status_code:
        case 404:
            return unknown_path(path, routes)
        case 405:
            return f"this path allows {allowed}{other_path(path)}"
        case 400 if isinstance(error.__cause__, UnicodeDecodeError):
            return "the body is not UTF-8, in which JSON is sent"
        case _:
            return str(error.detail)


def _methods(routes: Sequence[BaseRoute], scope: Scope) -> list[str]:
    """All methods of a path, over all its routes."""
    matching = [route for route in routes if route.matches(scope)[0] is not Match.NONE]
    methods = {method for route in matching for method in getattr(route, "methods", None) or ()}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _status(error: SemblanceError) -> int:
    return next(status for leaf, status in STATUS.items() if isinstance(error, leaf))


def _common_code(parts: Sequence[errors.Problem]) -> str | None:
    codes = {part.code for part in parts}
    return codes.pop() if len(codes) == 1 else None


def part_of(details: Mapping[str, Any], body: object = None) -> errors.Problem:
    """Convert a validation error of pydantic, without the value and with long names shortened.

    The value may be large or not UTF-8. `body` is the annotation of the body, whose fields are suggested.
    """
    kind, place = details["type"], details["loc"]
    known = unknown_field(body, place) if kind == "extra_forbidden" else _MESSAGES.get(kind, details["msg"])
    return errors.Problem(errors.pointer_to(*place), _code(kind), errors.shorten(known, MAX_DETAIL))


def _code(type_: str) -> str:
    return _VALIDATION_CODES.get(
        type_, type_ if type_ in OTHER_CODES or type_ == "invalid_request" else "invalid_value"
    )
