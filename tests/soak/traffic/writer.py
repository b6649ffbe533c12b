"""Client that upserts and deletes documents, and records what was acknowledged."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx2

from tests.soak.traffic.ledger import Ledger, State
from tests.soak.traffic.request_log import WRITES, RequestLog, client_headers, failure_of, transport_failure
from tests.support.servers.word_models import sentence

TIMEOUT_S = 120.0  # only ends a hang: every limit of the deployment is smaller
PAUSE_S = 0.05
PAUSE_AFTER_FAILURE_S = 0.5  # otherwise an outage leaves no document whose state is known
REFILL_BATCH = 60  # documents per request that restores missing ones
MISSING = 0.05  # largest share of missing documents


class Writer:
    """Writes to its own documents, nearly all of which exist at any time, until `stop` is set."""

    def __init__(
        self, url: str, ids: Sequence[str], ledger: Ledger, log: RequestLog, stop: threading.Event, seed: int
    ) -> None:
        self._url = url  # of the documents
        self._ids = ids
        self._ledger = ledger
        self._log = log
        self._stop = stop
        self._rng = random.Random(seed)

    def run(self) -> None:
        """Send writes until `stop` is set."""
        with httpx2.Client(timeout=TIMEOUT_S, headers=client_headers()) as http:
            pause_s = PAUSE_S
            while not self._stop.wait(pause_s):
                pause_s = PAUSE_S if self._write(http) else PAUSE_AFTER_FAILURE_S

    def _write(self, http: httpx2.Client) -> bool:
        """Send one random write to documents whose state is known; returns whether it succeeded."""
        known = [doc_id for doc_id in self._ids if not self._ledger.is_open(doc_id)]
        missing = [doc_id for doc_id in known if self._ledger.now(doc_id) is None]
        if len(missing) > MISSING * len(self._ids):
            return self._send("upsert", http, self._new_texts(missing[:REFILL_BATCH]))
        if existing := [doc_id for doc_id in known if self._ledger.now(doc_id) is not None]:
            kind = self._rng.choice(WRITES)
            count = 1 if kind == "delete" else self._rng.choice((1, 1, 3, 8))
            return self._send(kind, http, self._change(kind, self._rng.sample(existing, min(len(existing), count))))
        return False

    def _change(self, kind: str, ids: Sequence[str]) -> dict[str, State]:
        """The states of documents after a write of this kind."""
        if kind == "metadata":
            return {doc_id: self._ledger.now(doc_id) for doc_id in ids}
        return dict.fromkeys(ids) if kind in ("delete", "delete many") else self._new_texts(ids)

    def _new_texts(self, ids: Sequence[str]) -> dict[str, State]:
        """A unique text for each document."""
        return {doc_id: f"{sentence(self._rng)} {self._rng.getrandbits(48):x}" for doc_id in ids}

    def _send(self, kind: str, http: httpx2.Client, change: dict[str, State]) -> bool:
        sends: dict[str, Callable[[httpx2.Client, dict[str, State]], str | None]] = {
            "upsert": self._upsert,
            "upsert lines": self._upsert_lines,
            "metadata": self._set_metadata,
            "delete": self._delete,
            "delete many": self._delete_many,
        }
        self._ledger.attempt(change)
        start = time.monotonic()
        try:
            failure = sends[kind](http, change)
        except httpx2.HTTPError as error:
            failure = transport_failure(error)
        self._log.count(kind, start, failure)
        return failure is None

    def _upsert(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        documents = [{"id": doc_id, "text": text} for doc_id, text in change.items()]
        answer = http.post(self._url, json={"documents": documents})
        if answer.is_success:
            self._ledger.acknowledge(change, answer.json()["version"])
        return failure_of(answer)

    def _upsert_lines(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        """Upsert as NDJSON; a line of the response acknowledges lines up to one of the request."""
        lines = [json.dumps({"id": doc_id, "text": text}) + "\n" for doc_id, text in change.items()]
        rest = [*change.items()]
        with http.stream(
            "POST", self._url, content="".join(lines), headers={"content-type": "application/x-ndjson"}
        ) as answer:
            if not answer.is_success:
                answer.read()
                return failure_of(answer)
            acknowledged = 0
            for line in answer.iter_lines():
                progress: Any = json.loads(line)
                if "error" in progress:
                    return f"in the stream {progress['error']}"
                if "done" not in progress:
                    count = progress["through_line"] - acknowledged
                    self._ledger.acknowledge(dict(rest[:count]), progress["version"])
                    rest, acknowledged = rest[count:], progress["through_line"]
        if rest:
            self._log.violations.append(f"a stream was done before {len(rest)} of its lines were acknowledged")
        return None

    def _set_metadata(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        documents = [{"id": doc_id, "metadata": {"number": self._rng.randrange(100)}} for doc_id in change]
        return self._require_all(http.patch(self._url, json={"documents": documents}), change)

    def _delete_many(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        url = self._url.removesuffix("/documents")
        return self._require_all(http.post(f"{url}/delete", json={"ids": list(change)}), change)

    def _require_all(self, answer: httpx2.Response, change: dict[str, State]) -> str | None:
        """Acknowledge a write to existing documents, which must have changed all of them."""
        if answer.status_code == 404 or (answer.is_success and len(change) not in answer.json().values()):
            self._ledger.refused(change)
            self._log.violations.append(f"{list(change)} were acknowledged but not all changed: {answer.text[:200]}")
        elif answer.is_success:
            self._ledger.acknowledge(change, answer.json()["version"])
        return failure_of(answer)

    def _delete(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        [doc_id] = change
        answer = http.delete(f"{self._url}/{doc_id}")
        if answer.status_code == 404:
            self._ledger.refused(change)
            self._log.violations.append(f"{doc_id} was acknowledged but could not be deleted: {answer.text[:200]}")
        elif answer.is_success:
            self._ledger.acknowledge(change, answer.json()["version"])
        return failure_of(answer)
