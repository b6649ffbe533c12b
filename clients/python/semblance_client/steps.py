"""The steps of a call without input and output: requests, and decisions by responses.

`Client` and `AsyncClient` send the requests; everything else is decided here, once for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar

import httpx2

from semblance_client.errors import SemblanceError, error_of, foreign

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

FIRST_PAUSE_S = 0.5  # doubled before each further retry
LONGEST_PAUSE_S = 4.0


class RequestArguments(TypedDict):
    """A request as httpx2 has it."""

    method: str
    url: str
    content: bytes | None
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send after a pause."""

    method: str
    path: str
    content: bytes | None = None
    content_type: str = "application/json"
    after_s: float = 0.0

    def arguments(self) -> RequestArguments:
        """Arguments of `build_request` of the clients of httpx2."""
        headers = {} if self.content is None else {"content-type": self.content_type}
        return RequestArguments(method=self.method, url=self.path, content=self.content, headers=headers)


Steps: TypeAlias = Generator[Request, httpx2.Response, T]
"""Requests to send, each answered by its response or an `Unreachable` thrown in; at last the result."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Limits on the repetition of a call.

    A pause lasts as long as the service asks for by `retry-after`; otherwise 0.5 s, then twice that and so on, up to
    4 s. A call that would have to wait for longer than `total_s` fails at once.

    Args:
        attempts: requests of one call, the first included; 1 for no retries.
        total_s: seconds from the first failure in which further attempts begin.
    """

    attempts: int = 4
    total_s: float = 30.0


class RetryTimer:
    """Pauses between the attempts of one call."""

    def __init__(self, retries: Retries) -> None:
        self._left = retries.attempts - 1
        self._total_s = retries.total_s
        self._deadline: float | None = None  # set at the first failure
        self._pause_s = FIRST_PAUSE_S

    def pause(self, error: SemblanceError) -> float:
        """Seconds to wait before the next attempt. Raises `error` if there is none."""
        now = time.monotonic()
        self._deadline = now + self._total_s if self._deadline is None else self._deadline
        pause = self._pause_s if error.retry_after_s is None else error.retry_after_s
        if self._left < 1 or now + pause > self._deadline:
            raise error
        self._left -= 1
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        return pause


class Job(Protocol[T_co]):
    """The work of a client's method."""

    def steps(self, retries: Retries) -> Steps[T_co]:
        """Its requests and result. Raises SemblanceError."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request with a response of type T.

    Attributes:
        request: what is sent.
        parse: reads the body of the response. Raises ValueError.
        repeatable: whether a second application has the same outcome as the first, as of every read. Others are only
            sent again if it is certain that nothing has happened.
    """

    request: Request
    parse: Callable[[bytes], T]
    repeatable: bool = True

    def steps(self, retries: Retries) -> Steps[T]:
        """Send it, with retries, until a response arrives. Raises SemblanceError."""
        timer, request = RetryTimer(retries), self.request
        while True:
            try:
                response = yield request
                if response.has_redirect_location:
                    raise foreign(f"{request.method} {request.path}", response)
                if response.is_error:
                    raise error_of(request.method, request.path, response)
            except SemblanceError as error:
                if not (error.nothing_done or (error.transient and self.repeatable)):
                    raise
                request = replace(request, after_s=timer.pause(error))
            else:
                return self._read(response)

    def _read(self, response: httpx2.Response) -> T:
        try:
            return self.parse(response.content)
        except ValueError as error:
            raise foreign(f"{self.request.method} {self.request.path}", response) from error


@dataclass(frozen=True, slots=True)
class ListCall(Generic[T]):
    """A call about a list of independent entries, sent in parts where it is too large.

    A part that is rejected is halved, so that all limits of the service count, whatever they are.

    Attributes:
        field: name of the list in the request.
        entries: the list.
        call: sends a part of it.
        join: one response of those of the parts and the positions of their first entries.
    """

    field: str
    entries: Sequence[Any]
    call: Callable[[Sequence[Any]], Call[T]]
    join: Callable[[Sequence[T], Sequence[int]], T]

    def steps(self, retries: Retries) -> Steps[T]:
        """Send all parts, in order. Raises SemblanceError, whose pointers are into the whole list."""
        responses, starts = list[T](), list[int]()
        start, size = 0, len(self.entries)
        while start < len(self.entries) or not responses:
            part = self.entries[start : start + size]
            try:
                response = yield from self.call(part).steps(retries)
            except SemblanceError as error:
                if len(part) < 2 or not self._too_large(error):
                    raise (error.moved(self.field, start) if error.problems and start else error) from error
                size = (len(part) + 1) // 2
            else:
                responses.append(response)
                starts.append(start)
                start += len(part)
        return responses[0] if len(responses) == 1 else self.join(responses, starts)

    def _too_large(self, error: SemblanceError) -> bool:
        """Whether fewer entries may be accepted."""
        return error.status == 413 or any(
            problem.pointer == f"/{self.field}" and problem.code == "out_of_range" for problem in error.problems
        )


@dataclass(frozen=True, slots=True)
class Pages(Generic[T]):
    """A list that is read page by page, while it is iterated over.

    Attributes:
        call: asks for the entries after a cursor, and the cursor after them: None on the last page.
    """

    call: Callable[[str | None], Call[tuple[list[T], str | None]]]
