"""HTTP client that survives restarts of the service, for command line and benchmarks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import httpx2

from semblance.service.settings import CLIENT_KEY

TIMEOUT_S = 300.0
LINES_PER_REQUEST = 256  # stored as one batch, whose answer nginx passes on at once
BYTES_PER_REQUEST = 1_000_000
RETRY_INTERVAL_S = 0.5
RETRY_FOR_S = 60.0  # without progress
TRANSIENT = frozenset({"not_ready", "overloaded", "write_conflict", "model_loading", "store_unavailable"})


class ServiceError(Exception):
    """The service refused a request, with a code of docs/errors.md, or could not be reached."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Interrupted(ServiceError):
    """The connection failed or the service refused for now; what it had answered is stored."""


class _RetryTimer:
    """Wait between retries, and give up after a time without progress."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline: float | None = None  # set at the first interruption after progress

    def reset(self) -> None:
        """Start over, after progress."""
        self._deadline = None

    def wait(self, interruption: Interrupted) -> None:
        """Wait before the next retry. Raises `interruption` once the time is up."""
        self._deadline = self._deadline or time.monotonic() + self._seconds
        if time.monotonic() > self._deadline:
            raise interruption
        time.sleep(RETRY_INTERVAL_S)


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line that was refused, or stored with a warning: its number and the reason.

    `field` is the field of the document, such as `text` or `metadata/year`; empty if it is the whole line.
    """

    line: int
    code: str
    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Result of one batch of lines."""

    through_line: int
    upserted: int
    truncated: int
    refused: tuple[LineProblem, ...]
    warned: tuple[LineProblem, ...]


class Client:
    """Client of a running service, used in a `with` block.

    Args:
        url: its address, such as http://127.0.0.1:8000.
        key: API key sent with every request.
    """

    def __init__(self, url: str, key: str | None = None) -> None:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx2.Client(base_url=url, timeout=TIMEOUT_S, headers=headers)
        self._address = self._http.base_url.copy_with(userinfo=b"")  # for messages: without a password

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def send(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """Send a request and return its response, whatever the status.

        Raises:
            Interrupted: the service did not answer.
        """
        content = None if body is None else _json(body)
        try:
            return self._http.request(method, path, content=content, headers={"content-type": "application/json"})
        except httpx2.HTTPError as error:
            raise Interrupted(f"cannot reach {self._address}: {error}; is the service running there?") from error

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send a request and return the decoded JSON of its answer.

        Raises:
            ServiceError: it was refused.
            Interrupted: a retry may succeed.
        """
        answer = self.send(method, path, body)
        if answer.is_error:
            raise _failure(method, path, answer)
        return answer.json() if answer.content else None

    def request_with_retries(
        self, method: str, path: str, body: object = None, retry_for_s: float = RETRY_FOR_S
    ) -> Any:
        """As `request`, with retries for up to `retry_for_s` seconds.

        If an answer was lost, the request is served twice; it must be idempotent.

        Raises:
            ServiceError: the service refused it, or could not be reached in time.
        """
        timer = _RetryTimer(retry_for_s)
        while True:
            try:
                return self.request(method, path, body)
            except Interrupted as interruption:
                timer.wait(interruption)

    def index(self, collection: str, lines: Iterable[bytes], retry_for_s: float = RETRY_FOR_S) -> Iterator[StoredBatch]:
        """Store documents, one JSON object a line; refused lines are reported, the others stored.

        After a lost connection, unacknowledged lines are sent again, for up to `retry_for_s` seconds without progress.

        Raises:
            ServiceError: the service refused the request, or could not be reached in time.
        """
        path = f"/collections/{collection}/documents"
        first = 1
        for chunk in _chunks(lines):
            yield from self._store(path, first, chunk, retry_for_s)
            first += len(chunk)

    def _store(self, path: str, first: int, lines: list[bytes], retry_for_s: float) -> Iterator[StoredBatch]:
        """Send lines, numbered from `first`, until all are acknowledged."""
        timer = _RetryTimer(retry_for_s)
        done = 0
        while True:
            try:
                for batch in self._send_lines(path, first + done, lines[done:]):
                    done = batch.through_line - first + 1
                    timer.reset()
                    yield batch
            except Interrupted as interruption:
                timer.wait(interruption)
            else:
                return

    def _send_lines(self, path: str, first: int, lines: Sequence[bytes]) -> Iterator[StoredBatch]:
        """Send one request. Raises Interrupted unless its answer is complete."""
        headers = {"content-type": "application/x-ndjson"}
        try:
            with self._http.stream("POST", path, content=b"".join(lines), headers=headers) as answer:
                if answer.is_error:
                    answer.read()
                    raise _failure("POST", path, answer)
                for line in answer.iter_lines():
                    event = json.loads(line)
                    if event.get("done"):
                        return
                    if "error" in event:
                        failure = Interrupted if event["error"] in TRANSIENT else ServiceError
                        raise failure(f"POST {path}: {event['error']}: {event['detail']}")
                    yield stored_batch(event, first)
        except httpx2.HTTPError as error:
            raise Interrupted(f"lost the connection to {self._address}: {error}") from error
        raise Interrupted(f"POST {path}: the answer is incomplete")


def stored_batch(event: Mapping[str, Any], first: int) -> StoredBatch:
    """One line of the answer, with line numbers of the whole input."""
    refused, warned = (
        tuple(
            LineProblem(first - 1 + each["line"], each["code"], each["pointer"].removeprefix("/"), each["detail"])
            for each in event[name]
        )
        for name in ("errors", "warnings")
    )
    return StoredBatch(first - 1 + event["through_line"], event["upserted"], len(event["truncated"]), refused, warned)


def _chunks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Split lines into requests; each line gets a newline at its end."""
    chunk: list[bytes] = []
    size = 0
    for each in lines:
        line = each.rstrip(b"\n") + b"\n"
        if chunk and (len(chunk) == LINES_PER_REQUEST or size + len(line) > BYTES_PER_REQUEST):
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += len(line)
    if chunk:
        yield chunk


def _failure(method: str, path: str, answer: httpx2.Response) -> ServiceError:
    """A refused request as an error: Interrupted if the code is transient."""
    code = _code(answer)
    failure = Interrupted if code in TRANSIENT else ServiceError
    return failure(f"{method} {path}: {answer.status_code} {_detail(answer)}", code)


def _code(answer: httpx2.Response) -> str:
    try:
        return str(answer.json()["code"])
    except (ValueError, KeyError, TypeError):
        return "not_ready" if answer.status_code in (502, 503, 504) else ""  # from a proxy, without a code of ours


def _json(body: object) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate, which the service will refuse
        return json.dumps(body).encode()


def _detail(answer: httpx2.Response) -> str:
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.text[:200]
    return f"{detail}; set {CLIENT_KEY} to a key of this service" if answer.status_code == 401 else detail
