"""Queue of texts for the model thread. Not thread-safe: the worker calls it under its lock."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import accumulate

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.text import TokenizedText
from semblance.service.batching.policy import MIN_BATCH, Candidate, Limits, due_time, room_of
from semblance.service.batching.requests import QueuedRequest, QueuedText
from semblance.service.batching.turns import Turns
from semblance.service.errors import Overloaded, TooManyTokens
from semblance.service.observability.metrics import Metrics
from semblance.service.threads import Completion

MAX_RETRY_AFTER_S = 120  # the load may have changed by then
THROUGHPUT_DECAY = 0.9  # weight of a batch relative to the next one: about the last ten count


class Queue:
    """Admits requests, gives out their texts in batches, and collects the results."""

    def __init__(self, limits: Limits, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._metrics = metrics
        self._clock = clock
        self._throughput = Throughput()  # of all threads
        self._pace = Throughput()  # of one batch
        self._turns = Turns(limits)
        self._in_flight: dict[Hashable, QueuedText] = {}  # waiting or running

    def __bool__(self) -> bool:
        return bool(self._turns)

    def put(self, request: QueuedRequest) -> None:
        """Queue all texts of a request, or none.

        A text that already waits or runs is not queued again; it waits for the caller who would get it first, due when
        the most urgent request of that caller needs it.

        Raises:
            TooManyTokens, Overloaded: not for background requests.
        """
        keys = [_key(request, text) for text in request.texts]
        if not request.bulk:
            self._admit(request, keys)
        group = (request.encoder, request.want, request.bulk)
        ends = accumulate(len(text) for text in request.texts)
        for position, (key, text, end) in enumerate(zip(keys, request.texts, ends, strict=True)):
            due = due_time(request.submitted, end, bulk=request.bulk)
            candidate = Candidate(request.caller, len(text), group, due, request.urgency)
            entry = self._in_flight.get(key)
            if entry is None:
                entry = QueuedText(key, request.encoder, request.want, text, candidate)
                self._in_flight[key] = entry
                self._turns.add(entry)
            elif entry.queued:
                self._turns.move(entry, candidate)
            entry.positions.append((request, position))
            request.queued_texts.append(entry)
        self._update_metrics()

    def take(self, share: int = 1) -> list[QueuedText]:
        """Remove and return the next batch, for one of `share` free threads.

        It is empty only if no text waits.
        """
        batch = self._turns.take(self._clock(), share, self._tokens_in_time())
        self._update_metrics()
        return batch

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
        self, batch: Sequence[QueuedText], results: Sequence[TokenEmbeddings], seconds: float, running: int = 1
    ) -> list[Completion]:
        """Store the results of a batch; completions of the requests that now have all of theirs.

        It took `seconds` while `running` batches shared the processor, itself included.
        """
        touched: set[QueuedRequest] = set()
        now = self._clock()
        for text, result in zip(batch, results, strict=True):
            touched |= self._answer(text, result)
        for request in touched:
            request.batches.append((max(now - seconds, request.submitted), now))  # it may have joined a running batch
        tokens = sum(text.candidate.tokens for text in batch)
        self._throughput.add(tokens, seconds / running)
        self._pace.add(tokens, seconds)
        return _completed(touched)

    def fail(self, text: QueuedText) -> list[Completion]:
        """Leave a text without a result; completions of the requests that now have all others."""
        return _completed(self._answer(text, None))

    def _answer(self, text: QueuedText, result: TokenEmbeddings | None) -> set[QueuedRequest]:
        """Store the result of a text; returns the requests that contain it."""
        del self._in_flight[text.key]
        for request, position in text.positions:
            request.results[position] = result
            request.missing -= 1
        return {request for request, _ in text.positions}

    def close(self, request: QueuedRequest) -> None:
        """End an open request, and drop the queued texts that no other request needs."""
        if request.closed:
            return
        request.closed = True
        for text in request.queued_texts:
            if text.queued and not text.needed:
                self._turns.drop(text)
                del self._in_flight[text.key]
        self._update_metrics()

    def clear(self, error: Exception) -> list[Completion]:
        """Fail all requests and drop all texts, running ones included."""
        requests = {request for text in self._in_flight.values() for request, _ in text.positions if not request.closed}
        for request in requests:
            request.closed = True
        self._turns.clear()
        self._in_flight.clear()
        return [Completion(request.future, error=error) for request in requests]

    def _tokens_in_time(self) -> float:
        """Tokens of a batch that takes no longer than it should."""
        rate = self._pace.tokens_per_s
        return math.inf if rate is None else max(rate * self._limits.batch_s, MIN_BATCH)

    def _admit(self, request: QueuedRequest, keys: Sequence[Hashable]) -> None:
        """Reject a request that exceeds a limit; under the lock of `put`, so that bursts count."""
        tokens = sum(len(text) for text in request.texts)
        if tokens > self._limits.request_tokens:
            raise TooManyTokens.of(tokens, self._limits.request_tokens)
        new = {key: len(text) for key, text in zip(keys, request.texts, strict=True) if self._adds_load(key)}
        waiting = self._turns.interactive_tokens
        if sum(new.values()) > room_of(request.caller, waiting, self._limits.queued_tokens):
            total, own = sum(waiting.values()), waiting.get(request.caller, 0)
            rate = self._throughput.tokens_per_s
            retry_after_s = min(math.ceil(total / rate), MAX_RETRY_AFTER_S) if rate else 1
            raise Overloaded(
                f"{total:,} tokens wait for the model already, {own:,} of them from this caller: try again later",
                retry_after_s,
            )

    def _adds_load(self, key: Hashable) -> bool:
        """Whether a text would add to the interactive tokens."""
        text = self._in_flight.get(key)
        return text is None or (text.queued and text.candidate.urgency == "bulk")

    def _update_metrics(self) -> None:
        for urgency, tokens in self._turns.tokens.items():
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


def _completed(requests: Iterable[QueuedRequest]) -> list[Completion]:
    """Completions of those among open requests that miss no result."""
    completed = [request for request in requests if request.missing == 0 and not request.closed]
    for request in completed:
        request.closed = True
    return [Completion(request.future) for request in completed]


def _key(request: QueuedRequest, text: TokenizedText) -> Hashable:
    """Equal for texts that get equal results from the model."""
    return request.encoder, request.want, text.text, text.ids.tobytes(), text.spans.tobytes()
