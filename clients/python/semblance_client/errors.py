"""Errors of the client: one root, and a leaf for each kind that callers treat differently."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import httpx2

KEY_VARIABLE = "SEMBLANCE_CLIENT_KEY"
DETAIL_CHARS = 200  # shown of a response that is not the service's

# Codes of refusals after which nothing has happened, so that any request may be sent again.
NOTHING_DONE = frozenset({"overloaded", "model_loading", "write_conflict"})
# After these, a write may have happened; reads may be sent again.
TRANSIENT = NOTHING_DONE | {"not_ready", "store_unavailable", "version_not_reached"}


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a request that was rejected.

    Attributes:
        pointer: JSON pointer into the body, such as `/pairs/1/b`.
        code: a code of the service's table of errors.
        detail: what was wrong.
    """

    pointer: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The contents of an error response.

    Attributes:
        status: HTTP status.
        code: stable code, such as `unknown_collection`; empty if a proxy rejected the request.
        message: the service's own words.
        request_id: by which the request is found in the service's log.
        retry_after_s: seconds after which to try again.
        problems: the parts of the request that were rejected, 100 at most.
    """

    status: int | None = None
    code: str = ""
    message: str = ""
    request_id: str | None = None
    retry_after_s: float | None = None
    problems: tuple[Problem, ...] = ()


class SemblanceError(Exception):
    """A call failed: root of all errors of this package, and the error itself after status 500.

    Attributes:
        status: HTTP status, or None if there was no response.
        code: code of the service's table of errors, such as `unknown_collection`; may be empty.
        message: the service's own words; `str(error)` also has method, path and status.
        request_id: by which the request is found in the service's log; None if there was no response.
        retry_after_s: seconds after which to try again, if the service said so.
        problems: the parts of the request that were rejected, 100 at most.
    """

    def __init__(self, text: str, refusal: Refusal | None = None) -> None:
        super().__init__(text)
        refusal = refusal or Refusal()
        self.status = refusal.status
        self.code = refusal.code
        self.message = refusal.message or text
        self.request_id = refusal.request_id
        self.retry_after_s = refusal.retry_after_s
        self.problems = refusal.problems

    def moved(self, field: str, by: int) -> SemblanceError:
        """The same error of a request whose list `field` begins with `by` more entries."""
        problems = tuple(replace(part, pointer=moved(part.pointer, field, by)) for part in self.problems)
        message = moved(self.message, field, by)
        refusal = Refusal(self.status, self.code, message, self.request_id, self.retry_after_s, problems)
        return type(self)(moved(str(self), field, by), refusal)

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.code in TRANSIENT

    @property
    def nothing_done(self) -> bool:
        """Whether it is certain that the request has changed nothing."""
        return self.code in NOTHING_DONE


class BadRequest(SemblanceError):
    """The request is invalid, or too large: status 400, 413, 422 and the like."""


class Unauthorized(SemblanceError):
    """The service requires a key, and the client has none or an unknown one: status 401."""


class Forbidden(SemblanceError):
    """The key lacks the scope that the call requires: status 403."""


class NotFound(SemblanceError):
    """There is no collection, document or model of this name: status 404."""


class Conflict(SemblanceError):
    """The request contradicts what is stored, such as a document that has changed: status 409."""


class Overloaded(SemblanceError):
    """Too much work waits for the model or for threads: status 429. The retries were used up."""

    @property
    def transient(self) -> bool:
        """True."""
        return True

    @property
    def nothing_done(self) -> bool:
        """True."""
        return True


class Unavailable(SemblanceError):
    """The service is unavailable: status 502, 503 or 504. The retries were used up."""

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later: by its code, or as a proxy rejected it."""
        return super().transient or not self.code


class Unreachable(SemblanceError):
    """No response: the address is wrong, the service does not run, or the connection was lost.

    Args:
        text: what happened.
        sent: whether the request may have arrived.
    """

    def __init__(self, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        self._sent = sent

    @property
    def transient(self) -> bool:
        """True."""
        return True

    @property
    def nothing_done(self) -> bool:
        """Whether the request was never sent."""
        return not self._sent


class UnexpectedAnswer(SemblanceError):
    """The response is not one of Semblance: another service may run at this address."""


_BY_STATUS: dict[int, type[SemblanceError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: Overloaded,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


def moved(text: str, field: str, by: int) -> str:
    """A text with the positions in its pointers into a list increased.

    >>> moved("/input/3: it is empty; /input/4: it is empty", "input", 10)
    '/input/13: it is empty; /input/14: it is empty'
    """
    return re.sub(rf"(?<=/{field}/)\d+", lambda found: str(int(found[0]) + by), text)


def error_of(method: str, path: str, response: httpx2.Response) -> SemblanceError:
    """The error for a rejected request."""
    status = response.status_code
    body = _json(response)
    message = str(body.get("detail") or body.get("error") or shown(response))
    code = str(body.get("code") or "")
    hint = _hint(status, code, response)
    refusal = Refusal(
        status=status,
        code=code,
        message=message,
        request_id=response.headers.get("x-request-id"),
        retry_after_s=_seconds(response.headers.get("retry-after", "")),
        problems=_problems(body),
    )
    known = _BY_STATUS.get(status, BadRequest if status < 500 else SemblanceError)
    return known(f"{method} {path}: {status} {message}{hint}", refusal)


def unreachable(address: object, error: httpx2.HTTPError) -> Unreachable:
    """The error for a request without a response."""
    reason = str(error) or type(error).__name__
    if "WRONG_VERSION_NUMBER" in reason:
        return Unreachable(f"cannot reach {address}: the service there speaks http, not https: {reason}", sent=False)
    if isinstance(error, _UNSENT):
        return Unreachable(f"cannot reach {address}: {reason}; is the service running there?", sent=False)
    return Unreachable(f"lost the connection to {address}: {reason}", sent=True)


def foreign(place: str, response: httpx2.Response) -> UnexpectedAnswer:
    """The error for a response that is not one of Semblance."""
    text = f"{place}: the response is not one of Semblance"
    if response.has_redirect_location:
        target = response.headers["location"].removesuffix(response.request.url.raw_path.decode())
        return UnexpectedAnswer(f"{text}: it redirects to {target}; give the client that address")
    return UnexpectedAnswer(f"{text}; does another service run at {response.url.host}? It begins: {shown(response)}")


def shown(response: httpx2.Response) -> str:
    """The beginning of a response that is not the service's; of a page, its kind alone."""
    if response.text.lstrip()[:1] == "<":
        return "a page of HTML, of another service or a proxy"
    return response.text[:DETAIL_CHARS]


def _hint(status: int, code: str, response: httpx2.Response) -> str:
    if status == 401:
        return f"; set {KEY_VARIABLE} to a key of this service"
    if status == 404 and code in ("", "unknown_route"):
        return (
            f"; asked for {response.url}: the address of Semblance has no path such as /v1: "
            "is another service there, or a path in the address of the client too much?"
        )
    return ""


def _json(response: httpx2.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _problems(body: dict[str, Any]) -> tuple[Problem, ...]:
    """The rejected parts that the body lists."""
    listed = body.get("errors")
    parts = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return tuple(Problem(*(str(part.get(name, "")) for name in ("pointer", "code", "detail"))) for part in parts)


def _seconds(header: str) -> float | None:
    """Seconds of a `retry-after`; None for a date, which the service never sends.

    >>> _seconds("3"), _seconds(""), _seconds("Wed, 21 Oct 2026 07:28:00 GMT")
    (3.0, None, None)
    """
    return float(header) if header.isascii() and header.isdigit() else None
