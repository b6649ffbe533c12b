"""Storing many documents in a running service, for the command line and the benchmarks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import httpx2

from service.settings import CLIENT_KEY

TIMEOUT_S = 300.0
BATCH = 64  # documents in a request
BATCH_BYTES = 1_000_000  # as JSON; the service takes 8 MiB unless told otherwise


class ServiceError(Exception):
    """The service refused a request, or could not be reached."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that was not stored: its number in the input, and why."""

    line: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Progress:
    """What one request came to."""

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def call(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """One request; any answer will do.

        Raises:
            ServiceError: nobody answered.
        """
        content = None if body is None else _json(body)
        try:
            return self._http.request(method, path, content=content, headers={"content-type": "application/json"})
        except httpx2.HTTPError as error:
            raise ServiceError(f"cannot reach {self._http.base_url}: {error}; is the service running there?") from error

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request, and its answer from JSON.

        Raises:
            ServiceError: it was refused, or nobody answered.
        """
        answer = self.call(method, path, body)
        if answer.is_error:
            raise ServiceError(f"{method} {path}: {answer.status_code} {_detail(answer)}")
        return answer.json() if answer.content else None

    def index(self, collection: str, documents: Iterable[tuple[int, object]]) -> Iterator[Progress]:
        """Store numbered documents a batch at a time; those that the service refuses are reported, the others kept.

        Raises:
            ServiceError: a batch was refused for another reason than its documents.
        """
        for batch in _batches(documents):
            yield self._store_what_can_be(collection, batch)

    def _store_what_can_be(self, collection: str, batch: list[tuple[int, object]]) -> Progress:
        """Store a batch without the documents that the service refuses."""
        path = f"/collections/{collection}/documents"
        refused: list[Refused] = []
        kept, truncated = batch, 0
        while kept:
            answer = self.call("POST", path, {"documents": [document for _, document in kept]})
            if not answer.is_error:
                truncated = len(answer.json()["truncated"])
                break
            faults = _faults(answer, kept)
            if not faults:
                raise ServiceError(f"POST {path}: {answer.status_code} {_detail(answer)}")
            refused += faults
            lines = {fault.line for fault in faults}
            kept = [(line, document) for line, document in kept if line not in lines]
        return Progress(batch[-1][0], len(kept), truncated, tuple(sorted(refused, key=lambda fault: fault.line)))


def _faults(answer: httpx2.Response, batch: list[tuple[int, object]]) -> list[Refused]:
    """Why a batch was refused, if it was for some of its documents."""
    if answer.status_code == 413 and len(batch) == 1:
        return [Refused(batch[0][0], "body_too_large", _detail(answer))]
    if answer.status_code != 422:
        return []
    faults = []
    for part in answer.json().get("errors", []):
        found = re.fullmatch(r"/documents/(\d+)/?(.*)", part["pointer"])
        if found:
            field = f"{found[2]}: " if found[2] else ""
            faults.append(Refused(batch[int(found[1])][0], part["code"], field + part["detail"]))
    return faults


def _batches(documents: Iterable[tuple[int, object]]) -> Iterator[list[tuple[int, object]]]:
    """Documents in batches of at most `BATCH` and about `BATCH_BYTES`, no id twice in one: so the last of them wins."""
    batch: list[tuple[int, object]] = []
    ids: set[str] = set()
    size = 0
    for line, document in documents:
        doc_id = str(document.get("id")) if isinstance(document, dict) else ""
        length = len(_json(document))
        if batch and (len(batch) == BATCH or size + length > BATCH_BYTES or doc_id in ids):
            yield batch
            batch, ids, size = [], set(), 0
        batch.append((line, document))
        ids.add(doc_id)
        size += length
    if batch:
        yield batch


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
