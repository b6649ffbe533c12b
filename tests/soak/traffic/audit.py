"""Compare the documents, aliases and glossary of every replica with the acknowledged writes."""

from __future__ import annotations

import random
import threading
from functools import partial
from typing import Any

import httpx2

from tests.soak.traffic.checks import Checks, Kind
from tests.soak.traffic.ledger import Stored, stored_documents
from tests.soak.traffic.names import stored_names
from tests.soak.traffic.names_writer import NamesWriter
from tests.soak.traffic.reader import ALL, search_answer
from tests.soak.traffic.target import Target
from tests.support.running_service import Service
from tests.support.servers.deployment import Deployment
from tests.support.servers.word_models import sentence
from tests.support.waiting import CEILING_S, until

MARKER = "marker"  # a document that is written to learn the current version


class Audit:
    """Checks the whole contents of each replica of a healthy deployment without running writes."""

    def __init__(self, deployment: Deployment, target: Target, seed: int) -> None:
        self._deployment = deployment
        self._path = f"/collections/{target.collection}/documents"
        self._target = target
        self._ledger = target.ledger
        self._names = target.names
        self._rng = random.Random(seed)

    def settle(self) -> None:
        """Wait for health, and find out what unanswered writes did.

        A process that was suspended may still complete one that has begun: its transaction is open in PostgreSQL.
        """
        self._deployment.await_health()
        if self._ledger.any_open or self._names.open:
            until(lambda: not self._deployment.postgres.open_writes(), "the end of unanswered writes")
            version = self._mark()
            stored = self._list(self._deployment.replicas[0], version)
            self._target.log.stored_unanswered += self._ledger.settle(stored, version)
            NamesWriter(self._target, threading.Event(), self._rng.getrandbits(32)).close()

    def check_replicas(self, checks: Checks) -> None:
        """Check that each replica lists and finds exactly the acknowledged documents."""
        version = self._mark()
        expected = {doc_id: state for doc_id, state in self._ledger.contents().items() if state is not None}
        for replica in self._deployment.replicas:
            listed = self._list(replica, version)
            for doc_id in {*expected, *listed}:
                if listed.get(doc_id) != expected.get(doc_id):
                    kind: Kind = "deleted seen" if doc_id not in expected else "missing"
                    what = f"{replica.url} lists {doc_id} as {listed.get(doc_id)!r}, not {expected.get(doc_id)!r}"
                    checks.fault(kind, what)
            query, body = self._search_all(replica, version)
            checks.check_search(search_answer(query, body, complete=True, after=version))
            until(partial(self._has_names, replica), f"{self._names.now} of {replica.url}")  # it may lag

    def _has_names(self, replica: Service) -> bool:
        collection = f"{replica.url}/collections/{self._target.collection}"
        addresses = f"{replica.url}/aliases", f"{collection}/glossary"
        return stored_names(*(successful("GET", each) for each in addresses)) == self._names.now

    def _mark(self) -> str:
        """Write the marker document and return the version, which contains all earlier writes."""
        marker = Stored(sentence(self._rng))
        self._ledger.attempt({MARKER: marker})
        body = {"documents": [{"id": MARKER, "text": marker.text}]}
        version = str(successful("POST", f"{self._deployment.url}{self._path}", json=body)["version"])
        self._ledger.acknowledge({MARKER: marker}, version)
        return version

    def _search_all(self, replica: Service, version: str) -> tuple[str, object]:
        """Search for everything at this version or later; returns the query and the answer."""
        query = sentence(self._rng)
        body = {"query": query, "collection": self._target.collection, "k": ALL, "min_version": version}
        return query, successful("POST", f"{replica.url}/search", json=body)

    def _list(self, replica: Service, version: str) -> dict[str, Stored]:
        self._search_all(replica, version)
        listed = successful("GET", f"{replica.url}{self._path}", params={"limit": ALL})
        return stored_documents(listed["documents"])


def successful(method: str, address: str, **options: Any) -> Any:
    """The first successful answer; a replica refuses while a version has not reached it."""

    def send() -> Any:
        answer = httpx2.request(method, address, timeout=CEILING_S, **options)
        return answer.json() if answer.is_success else None

    return until(send, f"an answer to {method} {address}")
