"""Client that upserts and deletes documents, and records what was acknowledged."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import httpx2

from tests.soak.traffic.ledger import State, Stored
from tests.soak.traffic.request_log import DOCUMENT_WRITES, failure_of, new_client
from tests.soak.traffic.target import Target

PAUSE_S = 0.05
PAUSE_AFTER_FAILURE_S = 0.5  # otherwise an outage leaves no document whose state is known
REFILL_BATCH = 60  # documents per request that restores missing ones
MISSING = 0.05  # largest share of missing documents


class Writer:
    """Writes to its own documents, nearly all of which exist at any time, until `stop` is set."""

    def __init__(self, target: Target, ids: Sequence[str], stop: threading.Event, seed: int) -> None:
        self._target = target
        self._ledger, self._log = target.ledger, target.log
        self._path = f"/collections/{target.collection}"
        self._ids = ids
        self._stop = stop
        self._rng = random.Random(seed)

    def run(self) -> None:
        with new_client(self._target.url) as http:
            pause_s = PAUSE_S
            while not self._stop.wait(pause_s):
                pause_s = PAUSE_S if self._write(http) else PAUSE_AFTER_FAILURE_S

    def _write(self, http: httpx2.Client) -> bool:
        """Send one random write to documents whose state is known; returns whether it succeeded."""
        now = {doc_id: self._ledger.now(doc_id) for doc_id in self._ids if not self._ledger.is_open(doc_id)}
        missing = [doc_id for doc_id, state in now.items() if state is None]
        if len(missing) > MISSING * len(self._ids):
            return self._send("upsert", http, self._new_texts(missing[:REFILL_BATCH]))
        if existing := {doc_id: state for doc_id, state in now.items() if state is not None}:
            kind = self._rng.choice(DOCUMENT_WRITES)
            count = 1 if kind == "delete" else self._rng.choice((1, 1, 3, 8))
            ids = self._rng.sample([*existing], min(len(existing), count))
            return self._send(kind, http, self._change(kind, {doc_id: existing[doc_id] for doc_id in ids}))
        return False

    def _change(self, kind: str, now: dict[str, Stored]) -> dict[str, State]:
        if kind == "metadata":
            return {doc_id: state._replace(number=self._rng.randrange(100)) for doc_id, state in now.items()}
        return dict.fromkeys(now) if kind in ("delete", "delete many") else self._new_texts([*now])

    def _new_texts(self, ids: Sequence[str]) -> dict[str, State]:
        return {doc_id: Stored(f"{self._target.text(self._rng)} {self._rng.getrandbits(48):x}") for doc_id in ids}

    def _send(self, kind: str, http: httpx2.Client, change: dict[str, State]) -> bool:
        sends: dict[str, Callable[[httpx2.Client, dict[str, State]], str | None]] = {
            "upsert": self._upsert,
            "upsert lines": self._upsert_lines,
            "metadata": self._set_metadata,
            "delete": self._delete,
            "delete many": self._delete_many,
        }
        self._ledger.attempt(change)
        return self._log.send(kind, lambda: sends[kind](http, change))

    def _upsert(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        answer = http.post(f"{self._path}/documents", json={"documents": _texts(change)})
        return self._acknowledge(answer, change)

    def _upsert_lines(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        """Upsert as NDJSON; a line of the response acknowledges lines up to one of the request."""
        body = "".join(json.dumps(each) + "\n" for each in _texts(change))
        rest, headers = [*change.items()], {"content-type": "application/x-ndjson"}
        with http.stream("POST", f"{self._path}/documents", content=body, headers=headers) as answer:
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
        numbers = [{"id": doc_id, "metadata": {"number": state.number}} for doc_id, state in change.items() if state]
        return self._require_all(http.patch(f"{self._path}/documents", json={"documents": numbers}), change)

    def _delete_many(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        return self._require_all(http.post(f"{self._path}/delete", json={"ids": list(change)}), change)

    def _delete(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        [doc_id] = change
        return self._require_all(http.delete(f"{self._path}/documents/{doc_id}"), change, counted=False)

    def _require_all(self, answer: httpx2.Response, change: dict[str, State], *, counted: bool = True) -> str | None:
        """Acknowledge a write to existing documents, which must have changed all of them."""
        lacks = answer.is_success and counted and len(change) not in answer.json().values()
        if answer.status_code == 404 or lacks:
            self._ledger.refused(change)
            self._log.violations.append(f"{list(change)} were acknowledged but not all changed: {answer.text[:200]}")
            return failure_of(answer)
        return self._acknowledge(answer, change)

    def _acknowledge(self, answer: httpx2.Response, change: dict[str, State]) -> str | None:
        if answer.is_success:
            self._ledger.acknowledge(change, answer.json()["version"])
        return failure_of(answer)


def _texts(change: dict[str, State]) -> list[dict[str, str]]:
    return [{"id": doc_id, "text": state.text} for doc_id, state in change.items() if state is not None]
