"""Answers held against what was acknowledged and against scores computed here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tests.soak.traffic.ledger import Ledger, read_version
from tests.soak.traffic.oracle import TOLERANCE, Oracle
from tests.soak.traffic.tally import PairAnswer, SearchAnswer, Tally

SHOWN = 10


Kind: TypeAlias = Literal["missing", "deleted seen", "stale", "wrong score"]


@dataclass(slots=True)
class Findings:
    """What was wrong with answers, and how many were looked at.

    Missing are acknowledged documents that were not found, or with another text; stale are answers older than was asked
    for, or of a life of the collection that never was.
    """

    answers: int = 0
    scores: int = 0
    faults: Counter[Kind] = field(default_factory=Counter)
    largest_difference: float = 0.0
    examples: list[str] = field(default_factory=list)


class Checks:
    """Checks answers once no write is under way: then all that they may hold is known."""

    def __init__(self, ledger: Ledger, oracle: Oracle) -> None:
        self._ledger = ledger
        self._oracle = oracle
        self.findings = Findings()

    def all_of(self, tally: Tally) -> None:
        """Every answer that was kept; they are let go."""
        for search in tally.searches:
            self.search(search)
        for pair in tally.pairs:
            self._pair(pair)
        for doc_id, text in tally.gotten:
            self._expect(text in self._ledger.ever(doc_id), "missing", f"{doc_id} was read as {text!r}")
        self.findings.answers += len(tally.gotten)
        for answers in (tally.searches, tally.pairs, tally.gotten):
            answers.clear()

    def fault(self, kind: Kind, what: str) -> None:
        """Count a fault of a kind, and keep it to be shown unless there are many."""
        self.findings.faults[kind] += 1
        if len(self.findings.examples) < SHOWN:
            self.findings.examples.append(what)

    def search(self, answer: SearchAnswer) -> None:
        """Each hit is what its document held at the answer's version, with its true score; none is there twice."""
        at = read_version(answer.version)
        self.findings.answers += 1
        if not self._ledger.knows(at.epoch):
            self.fault("stale", f"a search answered from version {answer.version}, which never was")
            return
        if answer.after is not None and at.epoch == (after := read_version(answer.after)).epoch:
            self._expect(at.number >= after.number, "stale", f"{answer.version} answered for min_version {after}")
        found = {doc_id for doc_id, _, _ in answer.hits}
        self._expect(len(found) == len(answer.hits), "stale", f"a document twice in a search at {answer.version}")
        for doc_id, text, score in answer.hits:
            allowed = self._ledger.may_hold(doc_id, at)
            kind: Kind = "deleted seen" if allowed == {None} else "missing"
            self._expect(text in allowed, kind, f"{doc_id} at {answer.version} is {text!r}, may be {allowed}")
            self._score(answer.space, answer.query, text, score)
        if answer.whole:
            self._whole(answer, found)

    def _whole(self, answer: SearchAnswer, found: set[str]) -> None:
        """What a search for all did not find; it may leave out what was rewritten since its version."""
        at = read_version(answer.version)
        for doc_id in self._ledger.ids_of(at.epoch):
            if doc_id not in found and not self._ledger.rewritten_after(doc_id, at):
                allowed = self._ledger.may_hold(doc_id, at)
                self._expect(None in allowed, "missing", f"{doc_id} is not there at {answer.version}: {allowed}")

    def _pair(self, answer: PairAnswer) -> None:
        self.findings.answers += 1
        self._score(answer.space, answer.a, answer.b, answer.score)
        self._score(answer.space, answer.a, answer.b, answer.sum)

    def _score(self, space: str, a: str, b: str, score: float) -> None:
        difference = self._oracle.off_by(space, a, b, score)
        self.findings.scores += 1
        self.findings.largest_difference = max(self.findings.largest_difference, difference)
        self._expect(difference <= TOLERANCE, "wrong score", f"{a!r} and {b!r} score {score}, off by {difference:.1e}")

    def _expect(self, holds: bool, kind: Kind, otherwise: str) -> None:
        if not holds:
            self.fault(kind, otherwise)
