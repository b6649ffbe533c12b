"""Work with a running service that outlives its restarts, for the command line and the benchmarks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import httpx2

from semblance.service.settings import CLIENT_KEY

TIMEOUT_S = 300.0
LINES_AT_ONCE = 256  # in a request: what is stored as one batch also passes nginx whole, see `StreamAnswer`
BYTES_AT_ONCE = 1_000_000
RETRY_S = 0.5
PATIENCE_S = 60.0  # how long the service may stay away
# codes that another try may mend
PASSING = frozenset({"not_ready", "overloaded", "write_conflict", "model_loading", "store_unavailable"})


class ServiceError(Exception):
    """The service refused a request, with a code of docs/errors.md, or could not be reached."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Interrupted(ServiceError):
    """The service went away, or sent us away, in the middle; what it had answered is stored."""


class _Patience:
    """Waits before another try, until nothing was achieved for so long."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._give_up: float | None = None  # set at the first interruption since any progress

    def renew(self) -> None:
        """There was progress."""
        self._give_up = None

    def wait(self, interruption: Interrupted) -> None:
        """Wait a moment, or raise `interruption` if there is no time left."""
        self._give_up = self._give_up or time.monotonic() + self._seconds
        if time.monotonic() > self._give_up:
            raise interruption
        time.sleep(RETRY_S)


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that was not stored: its number, and why."""

    line: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """What one batch came to."""

    through_line: int
    upserted: int
    truncated: int
    refused: tuple[Refused, ...]


class Client:
    """A running service; close it with a `with` block.

    Args:
        url: where it is, such as http://127.0.0.1:8000.
        key: shown with every request, for a service that wants one.
    """

    def __init__(self, url: str, key: str | None = None) -> None:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx2.Client(base_url=url, timeout=TIMEOUT_S, headers=headers)
        self._where = self._http.base_url.copy_with(userinfo=b"")  # as messages may show it: there may be a password

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def call(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """One request; any answer will do.

        Raises:
            Interrupted: nobody answered.
        """
        content = None if body is None else _json(body)
        try:
            return self._http.request(method, path, content=content, headers={"content-type": "application/json"})
        except httpx2.HTTPError as error:
            raise Interrupted(f"cannot reach {self._where}: {error}; is the service running there?") from error

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request, and its answer from JSON.

        Raises:
            ServiceError: it was refused.
            Interrupted: another try may be answered otherwise.
        """
        answer = self.call(method, path, body)
        if answer.is_error:
            raise _failure(method, path, answer)
        return answer.json() if answer.content else None

    def insist(self, method: str, path: str, body: object = None, patience_s: float = PATIENCE_S) -> Any:
        """As `ask`, again and again until it is answered, for up to `patience_s`.

        An answer may be lost on its way: so the request may be served twice.

        Raises:
            ServiceError: the service refused it, or stayed away.
        """
        patience = _Patience(patience_s)
        while True:
            try:
                return self.ask(method, path, body)
            except Interrupted as interruption:
                patience.wait(interruption)

    def index(self, collection: str, lines: Iterable[bytes], patience_s: float = PATIENCE_S) -> Iterator[StoredBatch]:
        """Store documents, one JSON object a line; lines that the service refuses are reported, the others kept.

        When the connection is cut, what was not answered is sent again, for up to `patience_s` without any progress.

        Raises:
            ServiceError: the service refused the whole, or stayed away.
        """
        path = f"/collections/{collection}/documents"
        first = 1
        for part in _parts(lines):
            yield from self._store(path, first, part, patience_s)
            first += len(part)

    def _store(self, path: str, first: int, lines: list[bytes], patience_s: float) -> Iterator[StoredBatch]:
        """Send lines, the first of which has the number `first`, until all of them are answered."""
        patience = _Patience(patience_s)
        done = 0
        while True:
            try:
                for progress in self._send(path, first + done, lines[done:]):
                    done = progress.through_line - first + 1
                    patience.renew()
                    yield progress
            except Interrupted as interruption:
                patience.wait(interruption)
            else:
                return

    def _send(self, path: str, first: int, lines: Sequence[bytes]) -> Iterator[StoredBatch]:
        """One request. Raises Interrupted unless its answer came to the end."""
        headers = {"content-type": "application/x-ndjson"}
        try:
            with self._http.stream("POST", path, content=b"".join(lines), headers=headers) as answer:
                if answer.is_error:
                    answer.read()
                    raise _failure("POST", path, answer)
                for line in answer.iter_lines():
                    said = json.loads(line)
                    if said.get("done"):
                        return
                    if "error" in said:
                        failure = Interrupted if said["error"] in PASSING else ServiceError
                        raise failure(f"POST {path}: {said['error']}: {said['detail']}")
                    yield stored_batch(said, first)
        except httpx2.HTTPError as error:
            raise Interrupted(f"lost {self._where}: {error}") from error
        raise Interrupted(f"POST {path}: the answer broke off")


def stored_batch(said: Mapping[str, Any], first: int) -> StoredBatch:
    """A line of the answer, with lines numbered as in the whole input."""
    refused = [Refused(first - 1 + each["line"], each["code"], _in_words(each)) for each in said["errors"]]
    return StoredBatch(first - 1 + said["through_line"], said["upserted"], len(said["truncated"]), tuple(refused))


def _in_words(refused: Mapping[str, Any]) -> str:
    field = refused["pointer"].removeprefix("/")
    return f"{field}: {refused['detail']}" if field else refused["detail"]


def _parts(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines, each with its end, as many as go into a request."""
    part: list[bytes] = []
    size = 0
    for given in lines:
        line = given.rstrip(b"\n") + b"\n"
        if part and (len(part) == LINES_AT_ONCE or size + len(line) > BYTES_AT_ONCE):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield part


def _failure(method: str, path: str, answer: httpx2.Response) -> ServiceError:
    """A refusal as an error: Interrupted if it is one that passes."""
    code = _code(answer)
    failure = Interrupted if code in PASSING else ServiceError
    return failure(f"{method} {path}: {answer.status_code} {_detail(answer)}", code)


def _code(answer: httpx2.Response) -> str:
    try:
        return str(answer.json()["code"])
    except (ValueError, KeyError, TypeError):
        return "not_ready" if answer.status_code in (502, 503, 504) else ""  # a proxy speaks for the service


def _json(body: object) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate: the service says so
        return json.dumps(body).encode()


def _detail(answer: httpx2.Response) -> str:
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.text[:200]
    return f"{detail}; set {CLIENT_KEY} to a key of that service" if answer.status_code == 401 else detail
