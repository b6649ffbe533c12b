"""Compare the documents of every replica with the acknowledged writes."""

from __future__ import annotations

import random
from typing import Any

import httpx2

from tests.soak.traffic.checks import Checks, Kind
from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.reader import ALL, search_answer
from tests.soak.traffic.request_log import RequestLog
from tests.support.running_service import Service
from tests.support.servers.deployment import Deployment
from tests.support.servers.word_models import sentence
from tests.support.waiting import CEILING_S, until

MARKER = "marker"  # a document that is written to learn the current version


class Audit:
    """Checks the whole contents of each replica.

    Args:
        deployment: healthy, without running writes.
        collection: name of the collection.
        ledger: acknowledged writes.
    """

    def __init__(self, deployment: Deployment, collection: str, ledger: Ledger, seed: int) -> None:
        self._deployment = deployment
        self._collection = collection
        self._ledger = ledger
        self._rng = random.Random(seed)

    def settle(self, log: RequestLog) -> None:
        """Wait for health, and find out what unanswered writes did.

        A process that was suspended may still complete one that has begun: its transaction is open in PostgreSQL.
        """
        self._deployment.await_health()
        if not self._ledger.any_open:
            return
        until(lambda: not self._deployment.postgres.open_writes(), "the end of unanswered writes")
        version = self._mark()
        stored = self._list(self._deployment.replicas[0], version)
        log.stored_unanswered += self._ledger.settle(stored, version)

    def check_replicas(self, checks: Checks) -> None:
        """Check that each replica lists and finds exactly the acknowledged documents."""
        version = self._mark()
        expected = {doc_id: text for doc_id, text in self._ledger.contents().items() if text is not None}
        for replica in self._deployment.replicas:
            listed = self._list(replica, version)
            for doc_id in {*expected, *listed}:
                if listed.get(doc_id) != expected.get(doc_id):
                    kind: Kind = "deleted seen" if doc_id not in expected else "missing"
                    what = f"{replica.url} lists {doc_id} as {listed.get(doc_id)!r}, not {expected.get(doc_id)!r}"
                    checks.fault(kind, what)
            query, body = self._search_all(replica, version)
            checks.check_search(search_answer(query, body, complete=True, after=version))

    def _mark(self) -> str:
        """Write the marker document and return the version, which contains all earlier writes."""
        change = {MARKER: sentence(self._rng)}
        self._ledger.attempt(change)
        documents = [{"id": doc_id, "text": text} for doc_id, text in change.items()]
        address = f"{self._deployment.url}/collections/{self._collection}/documents"
        version = str(successful("POST", address, json={"documents": documents})["version"])
        self._ledger.acknowledge(change, version)
        return version

    def _search_all(self, replica: Service, version: str) -> tuple[str, object]:
        """Search for everything at this version or later; returns the query and the answer."""
        query = sentence(self._rng)
        body = {"query": query, "collection": self._collection, "k": ALL, "min_version": version}
        return query, successful("POST", f"{replica.url}/search", json=body)

    def _list(self, replica: Service, version: str) -> dict[str, str]:
        """All documents of a replica once it has reached the version."""
        self._search_all(replica, version)
        address = f"{replica.url}/collections/{self._collection}/documents"
        documents = successful("GET", address, params={"limit": ALL})["documents"]
        return {document["id"]: document["text"] for document in documents}


def successful(method: str, address: str, **options: Any) -> Any:
    """The first successful answer; a replica refuses while a version has not reached it."""

    def send() -> Any:
        answer = httpx2.request(method, address, timeout=CEILING_S, **options)
        return answer.json() if answer.is_success else None

    return until(send, f"an answer to {method} {address}")
