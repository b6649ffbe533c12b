"""Queue of texts for the model thread. Not thread-safe: the worker calls it under its lock."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

from sortedcontainers import SortedKeyList

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.protocols import Encoder
from semblance.models.text import TokenizedText
from semblance.service.batching.policy import Candidate, Limits, due_time, next_batch
from semblance.service.errors import Overloaded, TooManyTokens
from semblance.service.observability import Metrics
from semblance.service.ports.embedding import Urgency
from semblance.service.threads import Completion

MAX_RETRY_AFTER_S = 120  # the load may have changed by then
THROUGHPUT_DECAY = 0.9  # weight of a batch relative to the next one: about the last ten count


@dataclass(eq=False, slots=True)
class QueuedRequest:
    """The texts of one call and the results so far."""

    encoder: Encoder
    want: Want
    texts: Sequence[TokenizedText]
    bulk: bool
    future: asyncio.Future[None]
    submitted: float = field(default_factory=time.perf_counter)
    queued_texts: list[QueuedText] = field(default_factory=list)  # one for each text
    results: list[TokenEmbeddings | None] = field(init=False)
    missing: int = field(init=False)
    started: float | None = None
    encode_s: float = 0.0
    closed: bool = False  # answered, failed, or cancelled by its caller: none of its texts needs to run for it

    def __post_init__(self) -> None:
        self.missing = len(self.texts)
        self.results = [None] * self.missing

    @property
    def urgency(self) -> Urgency:
        """The class its waiting tokens are counted in."""
        return "bulk" if self.bulk else "interactive"


@dataclass(eq=False, slots=True)
class QueuedText:
    """A waiting or running text. Requests share equal texts, so that each is encoded once."""

    key: Hashable
    encoder: Encoder
    want: Want
    text: TokenizedText
    candidate: Candidate
    urgency: Urgency
    positions: list[tuple[QueuedRequest, int]] = field(default_factory=list)  # in each request that contains it
    queued: bool = False

    @property
    def needed(self) -> bool:
        """Whether an open request contains it."""
        return any(not request.closed for request, _ in self.positions)


class Queue:
    """Texts sorted by due time, with running token counts, since the queue can be long."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._throughput = Throughput()
        self._texts: SortedKeyList[QueuedText, float] = SortedKeyList(key=lambda text: text.candidate.due)
        self._in_flight: dict[Hashable, QueuedText] = {}  # waiting or running
        self._stale = 0  # entries of `_texts` that no open request needs; removed by the next `take`
        self._tokens: dict[Urgency, int] = {"interactive": 0, "bulk": 0}

    def __bool__(self) -> bool:
        return len(self._texts) > self._stale

    def put(self, request: QueuedRequest) -> None:
        """Queue all texts of a request, or none.

        A text that already waits or runs is not queued again; its due time becomes that of its most urgent request.

        Raises:
            TooManyTokens, Overloaded: not for background requests.
        """
        keys = [_key(request, text) for text in request.texts]
        if not request.bulk:
            self._admit(request, keys)
        group = (id(request.encoder), request.want, request.bulk)
        ends = accumulate(len(text) for text in request.texts)
        for position, (key, text, end) in enumerate(zip(keys, request.texts, ends, strict=True)):
            candidate = Candidate(len(text), group, due_time(request.submitted, end, bulk=request.bulk))
            entry = self._in_flight.get(key)
            if entry is None:
                entry = QueuedText(key, request.encoder, request.want, text, candidate, request.urgency)
                self._in_flight[key] = entry
                self._enqueue(entry)
            elif entry.queued and candidate.due < entry.candidate.due:
                # a sorted list must not see its keys change: remove, update, insert
                self._texts.remove(entry)
                self._count(entry, -1)
                entry.candidate, entry.urgency = candidate, request.urgency
                self._enqueue(entry)
            entry.positions.append((request, position))
            request.queued_texts.append(entry)
        self._update_metrics()

    def take(self) -> list[QueuedText]:
        """Remove and return the next batch; empty only if no text waits."""
        if self._stale:  # removed here, all at once: removing each by itself takes a search in the sorted list
            self._texts = SortedKeyList((text for text in self._texts if text.queued), self._texts.key)
            self._stale = 0
        window = list(islice(self._texts, self._limits.window))
        chosen = next_batch([text.candidate for text in window], self._limits)
        for i in sorted(chosen, reverse=True):
            del self._texts[i]
        for i in chosen:
            self._mark_dequeued(window[i])
        self._update_metrics()
        return [window[i] for i in chosen]

    def start(self, batch: Sequence[QueuedText], now: float) -> list[QueuedText]:
        """Texts of a batch that are still needed; the others are dropped."""
        needed = [text for text in batch if text.needed]
        for text in batch:
            if not text.needed:
                del self._in_flight[text.key]
        for text in needed:
            for request, _ in text.positions:
                request.started = request.started or now
        return needed

    def finish(
        self, batch: Sequence[QueuedText], results: Sequence[TokenEmbeddings], seconds: float
    ) -> list[Completion]:
        """Store the results of a batch; completions of the requests that now have all of theirs."""
        completions: list[Completion] = []
        touched: set[QueuedRequest] = set()
        now = time.perf_counter()
        for text, result in zip(batch, results, strict=True):
            del self._in_flight[text.key]
            for request, position in text.positions:
                request.results[position] = result
                request.missing -= 1
                touched.add(request)
        for request in touched:
            request.encode_s += min(seconds, now - request.submitted)  # it may have joined a running batch
            if request.missing == 0 and not request.closed:
                request.closed = True
                completions.append(Completion(request.future))
        self._throughput.add(sum(text.candidate.tokens for text in batch), seconds)
        return completions

    def fail(self, text: QueuedText, error: BaseException) -> list[Completion]:
        """Fail all requests that contain a text that cannot be encoded."""
        del self._in_flight[text.key]
        failed = {request for request, _ in text.positions if not request.closed}
        for request in failed:
            self.close(request)
        return [Completion(request.future, error=error) for request in failed]

    def close(self, request: QueuedRequest) -> None:
        """End an open request, and drop the queued texts that no other request needs."""
        if request.closed:
            return
        request.closed = True
        for text in request.queued_texts:
            if text.queued and not text.needed:
                self._mark_dequeued(text)
                del self._in_flight[text.key]
                self._stale += 1
        self._update_metrics()

    def clear(self, error: Exception) -> list[Completion]:
        """Fail all requests and drop all texts, running ones included."""
        requests = {request for text in self._in_flight.values() for request, _ in text.positions if not request.closed}
        for request in requests:
            request.closed = True
        self._texts.clear()
        self._stale = 0
        self._in_flight.clear()
        return [Completion(request.future, error=error) for request in requests]

    def _admit(self, request: QueuedRequest, keys: Sequence[Hashable]) -> None:
        """Refuse a request that exceeds a limit; under the lock of `put`, so that bursts count."""
        tokens = sum(len(text) for text in request.texts)
        if tokens > self._limits.request_tokens:
            raise TooManyTokens(
                f"{tokens:,} tokens that are not cached exceed the limit of {self._limits.request_tokens:,} "
                "per request: send fewer texts at a time"
            )
        new = {key: len(text) for key, text in zip(keys, request.texts, strict=True) if self._adds_load(key)}
        waiting = self._tokens["interactive"]
        if waiting + sum(new.values()) > self._limits.queued_tokens:
            rate = self._throughput.tokens_per_s
            retry_after_s = min(math.ceil(waiting / rate), MAX_RETRY_AFTER_S) if rate else 1
            raise Overloaded(f"{waiting:,} tokens are waiting for the model already: try again later", retry_after_s)

    def _adds_load(self, key: Hashable) -> bool:
        """Whether a text would add to the interactive tokens."""
        text = self._in_flight.get(key)
        return text is None or (text.queued and text.urgency == "bulk")

    def _enqueue(self, text: QueuedText) -> None:
        text.queued = True
        self._texts.add(text)
        self._count(text, 1)

    def _mark_dequeued(self, text: QueuedText) -> None:
        text.queued = False
        self._count(text, -1)

    def _count(self, text: QueuedText, sign: int) -> None:
        self._tokens[text.urgency] += sign * text.candidate.tokens

    def _update_metrics(self) -> None:
        for urgency, tokens in self._tokens.items():
            self._metrics.set_queued(urgency, tokens)


class Throughput:
    """Estimate tokens per second from the last batches, each weighted by its tokens.

    A batch of one short text takes nearly as long as one of ten, and says little about batches of thousands of tokens.

    >>> throughput = Throughput()
    >>> throughput.tokens_per_s is None
    True
    >>> for _ in range(10):
    ...     throughput.add(tokens=3, seconds=0.01)
    >>> throughput.add(tokens=4000, seconds=1.0)
    >>> round(throughput.tokens_per_s)
    4000
    """

    def __init__(self) -> None:
        self._tokens = self._seconds = 0.0  # weighted sums

    def add(self, tokens: int, seconds: float) -> None:
        """Add a batch."""
        self._tokens = THROUGHPUT_DECAY * self._tokens + tokens * tokens
        self._seconds = THROUGHPUT_DECAY * self._seconds + tokens * seconds

    @property
    def tokens_per_s(self) -> float | None:
        """The rate; None before the first batch."""
        return self._tokens / self._seconds if self._seconds else None


def _key(request: QueuedRequest, text: TokenizedText) -> Hashable:
    """Equal for texts that get equal results from the model."""
    return id(request.encoder), request.want, text.text, text.ids.tobytes(), text.spans.tobytes()
