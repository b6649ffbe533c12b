"""What every replica holds, once it is quiet, against what was acknowledged."""

from __future__ import annotations

import random
import time

import httpx2

from tests.soak.traffic.checks import Checks, Kind
from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.reader import ALL, search_answer
from tests.soak.traffic.tally import Tally
from tests.support.running_service import Service
from tests.support.servers.deployment import DATABASE_TIMEOUT_S, Deployment
from tests.support.servers.word_models import sentence

MARKER = "marker"  # a document that is written to learn where the truth is
REACHED_S = 30.0


class Audit:
    """Looks at all that there is, replica by replica.

    Args:
        deployment: at rest: no write is under way, and all of it is healthy.
        collection: whose documents are looked at.
        ledger: what it was said to hold.
    """

    def __init__(self, deployment: Deployment, collection: str, ledger: Ledger, seed: int) -> None:
        self._deployment = deployment
        self._collection = collection
        self._ledger = ledger
        self._chance = random.Random(seed)

    def settle(self, tally: Tally) -> None:
        """Look what became of the writes without an answer.

        A process that was stopped may still go on with one: as long as a write may take is waited.
        """
        if not self._ledger.any_open:
            return
        time.sleep(max(0.0, tally.last_failure + 2 * DATABASE_TIMEOUT_S - time.monotonic()))
        version = self._mark()
        found = self._listed(self._deployment.replicas[0], version)
        tally.stored_unanswered += self._ledger.settle(found, version)

    def look(self, checks: Checks) -> None:
        """Each replica lists and finds just what was acknowledged, with true scores."""
        version = self._mark()
        expected = {doc_id: text for doc_id, text in self._ledger.held().items() if text is not None}
        for replica in self._deployment.replicas:
            listed = self._listed(replica, version)
            for doc_id in {*expected, *listed}:
                if listed.get(doc_id) != expected.get(doc_id):
                    kind: Kind = "deleted seen" if doc_id not in expected else "missing"
                    said = f"{replica.url} lists {doc_id} as {listed.get(doc_id)!r}, not {expected.get(doc_id)!r}"
                    checks.fault(kind, said)
            query, found = self._searched(replica, version)
            checks.search(search_answer(query, found, whole=True, after=version))

    def _mark(self) -> str:
        """A version that holds all that was written before."""
        change = {MARKER: sentence(self._chance)}
        self._ledger.attempt(change)
        documents = [{"id": doc_id, "text": text} for doc_id, text in change.items()]
        answer = httpx2.post(
            f"{self._deployment.url}/collections/{self._collection}/documents",
            json={"documents": documents},
            timeout=60,
        )
        answer.raise_for_status()
        version = str(answer.json()["version"])
        self._ledger.acknowledge(change, version)
        return version

    def _searched(self, replica: Service, version: str) -> tuple[str, object]:
        """A search for all, and its answer, once the replica has that version."""
        query = sentence(self._chance)
        body = {"query": query, "collection": self._collection, "k": ALL, "min_version": version}
        give_up = time.monotonic() + REACHED_S
        while True:
            answer = httpx2.post(f"{replica.url}/search", json=body, timeout=60)
            if answer.is_success or time.monotonic() > give_up:
                answer.raise_for_status()
                return query, answer.json()
            time.sleep(0.1)

    def _listed(self, replica: Service, version: str) -> dict[str, str]:
        """All documents of a replica that has come to this version."""
        self._searched(replica, version)
        address = f"{replica.url}/collections/{self._collection}/documents"
        answer = httpx2.get(address, params={"limit": ALL}, timeout=60).raise_for_status()
        return {document["id"]: document["text"] for document in answer.json()["documents"]}
