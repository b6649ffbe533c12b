"""The queued texts of each caller by due time, and whose turn is next. Not thread-safe."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, islice

from sortedcontainers import SortedKeyList

from semblance.service.batching.policy import Candidate, Limits, debts_after, next_batch, turn_order
from semblance.service.batching.requests import QueuedText
from semblance.service.ports.embedding import Urgency

MIN_TOKENS = 64  # of a part of the waiting texts: fewer are sooner done together, on all cores


class Turns:
    """Waiting texts with running token counts, since there can be many."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._waiting: dict[str, SortedKeyList[QueuedText, float]] = {}  # by caller
        self._debts: Mapping[str, float] = {}
        self._texts = 0
        self._interactive_tokens = Counter[str]()  # by caller
        self._dropped: set[str] = set()  # callers with texts in `_waiting` that wait no more; `take` removes them
        self.tokens: dict[Urgency, int] = {"interactive": 0, "bulk": 0}

    def __bool__(self) -> bool:
        return self._texts > 0

    @property
    def interactive_tokens(self) -> Mapping[str, int]:
        """Waiting tokens of each caller, without background work; callers without any are left out."""
        return self._interactive_tokens

    def add(self, text: QueuedText) -> None:
        """Add a text for the caller of its candidate."""
        text.queued = True
        caller = text.candidate.caller
        if caller not in self._waiting:
            self._waiting[caller] = SortedKeyList(key=lambda text: text.candidate.due)
        self._waiting[caller].add(text)
        self._count(text.candidate, 1)

    def drop(self, text: QueuedText) -> None:
        """Remove a text that is not needed any more."""
        self._dropped.add(text.candidate.caller)  # removed all at once: each by itself takes a search in the list
        self._mark_removed(text)

    def move(self, text: QueuedText, candidate: Candidate) -> None:
        """Let a waiting text wait as another candidate instead, if its turn comes sooner then."""
        if self._sooner(candidate, text.candidate):
            # a sorted list must not see its keys change: remove, update, insert
            self._waiting[text.candidate.caller].remove(text)
            self._mark_removed(text)
            text.candidate = candidate
            self.add(text)

    def take(self, now: float, share: int = 1, most: float = math.inf) -> list[QueuedText]:
        """Remove and return the next batch; empty only if no text waits.

        Args:
            now: the current time, on the clock of the due times.
            share: threads that are free for batches, among which the waiting texts are divided.
            most: tokens of the batch, if that is less than the limit.
        """
        self._clean()
        order = turn_order((texts[0].candidate for texts in self._waiting.values()), self._debts, now)
        in_order = chain.from_iterable(self._waiting[caller] for caller in order)
        window = list(islice(in_order, self._limits.window))
        limits = replace(self._limits, batch_tokens=int(min(self._budget(share), most)))
        batch = [window[i] for i in next_batch([text.candidate for text in window], limits, self._debts)]
        for text in batch:
            self._waiting[text.candidate.caller].remove(text)
            self._mark_removed(text)
        if batch:
            self._debts = debts_after(self._debts, [text.candidate for text in batch], self._limits.batch_tokens)
        return batch

    def _budget(self, share: int) -> int:
        """Tokens of the next batch."""
        part = -(-sum(self.tokens.values()) // share)
        return min(self._limits.batch_tokens, max(part, MIN_TOKENS))

    def clear(self) -> None:
        """Remove all texts."""
        self._waiting.clear()
        self._dropped.clear()
        self._texts = 0

    def _sooner(self, candidate: Candidate, other: Candidate) -> bool:
        if candidate.caller == other.caller:
            return candidate.due < other.due
        return self._expected_turn(candidate) < self._expected_turn(other)

    def _expected_turn(self, candidate: Candidate) -> tuple[bool, float]:
        """For comparing callers: the one that waits for fewer tokens is served sooner."""
        backlog = self._debts.get(candidate.caller, 0.0) + self._interactive_tokens[candidate.caller]
        return candidate.urgency == "bulk", backlog

    def _clean(self) -> None:
        """Remove dropped texts, and callers without texts."""
        for caller in self._dropped:
            texts = self._waiting[caller]
            self._waiting[caller] = SortedKeyList((text for text in texts if text.queued), texts.key)
        self._dropped.clear()
        self._waiting = {caller: texts for caller, texts in self._waiting.items() if texts}

    def _mark_removed(self, text: QueuedText) -> None:
        text.queued = False
        self._count(text.candidate, -1)

    def _count(self, candidate: Candidate, sign: int) -> None:
        self._texts += sign
        self.tokens[candidate.urgency] += sign * candidate.tokens
        if candidate.urgency == "interactive":
            self._interactive_tokens[candidate.caller] += sign * candidate.tokens
            if not self._interactive_tokens[candidate.caller]:
                del self._interactive_tokens[candidate.caller]
