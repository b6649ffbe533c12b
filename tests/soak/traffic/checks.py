"""Check answers against acknowledged writes and against independently computed scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from tests.soak.traffic.ledger import Ledger, State, parse_version
from tests.soak.traffic.request_log import PairAnswer, RequestLog, SearchAnswer

MAX_EXAMPLES = 10
TOLERANCE = 1e-5  # of a score in float32

Kind: TypeAlias = Literal["missing", "deleted seen", "stale", "wrong score"]


@dataclass(slots=True)
class Findings:
    """Faults in answers, and how many answers and scores were checked.

    "missing": an acknowledged document was not found, or with another text. "stale": the answer is older than requested
    or of an unknown epoch.
    """

    answers: int = 0
    scores: int = 0
    faults: Counter[Kind] = field(default_factory=Counter)
    largest_difference: float = 0.0
    examples: list[str] = field(default_factory=list)


class Oracle:
    """The cosine of two texts in any served space, encoded one by one in this process.

    Args:
        models: file of each served model, by name; the first is the default.
    """

    def __init__(self, models: Mapping[str, Path]) -> None:
        encoders = [read_source(str(file)).load(name, Compute()) for name, file in models.items()]
        self._encoders = {encoder.space: encoder for encoder in encoders}
        self._direction = lru_cache(100_000)(self._encode)

    @property
    def spaces(self) -> list[str]:
        return [*self._encoders]

    def error_of(self, space: str, query: str, text: str, score: float) -> float:
        return abs(score - float(self._direction(space, query) @ self._direction(space, text)))

    def _encode(self, space: str, text: str) -> Doubles:
        encoder = self._encoders[space]
        [embeddings] = encoder.encode(encoder.tokenize([text], "document", "END"), "pooled")
        vector = embeddings.pooled().astype(np.float64)
        return vector / float(np.linalg.norm(vector) or 1.0)


class Checks:
    """Checks answers while no write is running, so that their permitted contents are known.

    Args:
        ledger: acknowledged writes.
        oracle: scores.
        stateless: whether replicas keep no copy. Their hits are documents as the primary has them, so never older than
            a write that was acknowledged before the search, and maybe newer than the version of the answer, from which
            on the index may lack some.
    """

    def __init__(self, ledger: Ledger, oracle: Oracle, *, stateless: bool = False) -> None:
        self._ledger = ledger
        self._oracle = oracle
        self._stateless = stateless
        self.findings = Findings()

    def check_log(self, log: RequestLog, *, may_miss: bool = False) -> None:
        """Check all recorded answers, and remove them from the log; searches may lack documents if `may_miss`."""
        for search in log.searches:
            self.check_search(replace(search, complete=search.complete and not may_miss))
        for pair in log.pairs:
            self._check_pair(pair)
        for doc_id, text in log.documents:
            self._expect(text in texts_of(self._ledger.ever(doc_id)), "missing", f"{doc_id} was read as {text!r}")
        self.findings.answers += len(log.documents)
        for answers in (log.searches, log.pairs, log.documents):
            answers.clear()

    def fault(self, kind: Kind, what: str) -> None:
        self.findings.faults[kind] += 1
        if len(self.findings.examples) < MAX_EXAMPLES:
            self.findings.examples.append(what)

    def check_search(self, answer: SearchAnswer) -> None:
        """Check that hits are distinct, with the text at the answer's version and a right score."""
        version = parse_version(answer.version)
        self.findings.answers += 1
        if not self._ledger.knows(version.epoch):
            self.fault("stale", f"a search answered from version {answer.version}, which never existed")
            return
        if answer.after is not None and version.epoch == (after := parse_version(answer.after)).epoch:
            self._expect(version.number >= after.number, "stale", f"{answer.version} answered for min_version {after}")
        hit_ids = {doc_id for doc_id, _, _ in answer.hits}
        self._expect(len(hit_ids) == len(answer.hits), "stale", f"a document twice in a search at {answer.version}")
        for doc_id, text, score in answer.hits:
            allowed = self._allowed(doc_id, answer)
            kind: Kind = "deleted seen" if allowed == {None} else "missing"
            self._expect(text in allowed, kind, f"{doc_id} at {answer.version} is {text!r}, may be {allowed}")
            self._check_score(answer.space, answer.query, text, score)
        if answer.complete:
            self._check_complete(answer, hit_ids)

    def _allowed(self, doc_id: str, answer: SearchAnswer) -> set[str | None]:
        if self._stateless:
            return texts_of(self._ledger.may_hold_since(doc_id, parse_version(answer.known or answer.version)))
        return texts_of(self._ledger.may_hold(doc_id, parse_version(answer.version)))

    def _check_complete(self, answer: SearchAnswer, hit_ids: set[str]) -> None:
        version = parse_version(answer.version)
        for doc_id in self._ledger.ids_of(version.epoch):
            if doc_id not in hit_ids and not self._ledger.rewritten_after(doc_id, version):
                allowed = self._ledger.may_hold(doc_id, version)
                self._expect(None in allowed, "missing", f"{doc_id} is missing at {answer.version}: {allowed}")

    def _check_pair(self, answer: PairAnswer) -> None:
        self.findings.answers += 1
        self._check_score(answer.space, answer.a, answer.b, answer.score)
        self._check_score(answer.space, answer.a, answer.b, answer.sum)

    def _check_score(self, space: str, a: str, b: str, score: float) -> None:
        difference = self._oracle.error_of(space, a, b, score)
        self.findings.scores += 1
        self.findings.largest_difference = max(self.findings.largest_difference, difference)
        self._expect(difference <= TOLERANCE, "wrong score", f"{a!r} and {b!r} score {score}, off by {difference:.1e}")

    def _expect(self, condition: bool, kind: Kind, message: str) -> None:
        if not condition:
            self.fault(kind, message)


def texts_of(states: set[State]) -> set[str | None]:
    return {state and state.text for state in states}
