"""Decide which queued texts form the next batch. Pure functions: the worker acts on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

DELAY_S_PER_TOKEN = 0.001  # a request of 20 tokens overtakes those of 40 or more that arrived up to 20 ms earlier
BULK_DELAY_S = 15.0  # background work waits at most this long for requests that arrived later
PADDING_SLACK = 16  # tokens of padding that are always accepted: a batch of its own would cost as much


class Candidate(NamedTuple):
    """A queued text: tokens, group of texts that may share a batch, and due time."""

    tokens: int
    group: Hashable
    due: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on batches and on the queue.

    Attributes:
        batch_tokens: maximum tokens in a batch, without padding.
        window: number of queued texts considered for a batch.
        request_tokens: maximum tokens of one call.
        queued_tokens: maximum tokens in the queue; background calls do not count.
    """

    batch_tokens: int
    request_tokens: int
    queued_tokens: int
    window: int = 1024


def due_time(arrived_s: float, tokens: int, *, bulk: bool) -> float:
    """Due time of a text, from the tokens of its request up to its end; the earliest runs first.

    Small requests overtake large ones and run in their gaps; background requests come last. Since due times are fixed
    and later arrivals are due later, a text can only be overtaken for a limited time.

    >>> due_time(10.0, 20, bulk=False), due_time(9.0, 4000, bulk=False), due_time(0.0, 1000, bulk=True)
    (10.02, 13.0, 16.0)
    """
    return arrived_s + tokens * DELAY_S_PER_TOKEN + (BULK_DELAY_S if bulk else 0.0)


def next_batch(queue: Sequence[Candidate], limits: Limits) -> list[int]:
    """Positions of the next batch in a queue sorted by due time; empty only if the queue is.

    The first text always runs, so none starves. Texts of its group join it, nearest in length first and then by due
    time, until the token budget is full, or until one text would be padded to much more than twice its length: some
    runtimes pad, and padding costs as much as text.

    >>> queue = [Candidate(5, "m", 1.0), Candidate(90, "m", 1.1), Candidate(6, "m", 1.2), Candidate(5, "other", 1.3)]
    >>> next_batch(queue, Limits(batch_tokens=30, request_tokens=1000, queued_tokens=1000))
    [0, 2]
    """
    if not queue:
        return []
    first = queue[0]
    others = [i for i, text in enumerate(queue[: limits.window]) if i > 0 and text.group == first.group]
    others.sort(key=lambda i: abs(queue[i].tokens - first.tokens))
    batch, tokens, shortest, longest = [0], first.tokens, first.tokens, first.tokens
    for i in others:
        tokens += queue[i].tokens
        shortest, longest = min(shortest, queue[i].tokens), max(longest, queue[i].tokens)
        if tokens > limits.batch_tokens or longest > 2 * shortest + PADDING_SLACK:
            break
        batch.append(i)
    return batch
