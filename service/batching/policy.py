"""Which of the waiting texts pass through the model together. Pure: it decides, the worker acts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

PATIENCE_S_PER_TOKEN = 0.001  # a request of 20 tokens goes before all that came 20 ms earlier with 40 tokens or more
BULK_PATIENCE_S = 15.0  # background work waits no longer than this for what came later
SLACK = 16  # padding that no text of a batch is refused for, in tokens: a pass of its own would cost as much


class Waiting(NamedTuple):
    """A text in the queue: its length, what it may share a pass with (same model, same kind of answer), and `due`."""

    tokens: int
    group: Hashable
    due: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What may run and wait.

    Attributes:
        batch_tokens: most tokens in a pass, without padding.
        window: how many waiting texts are looked at to fill it.
        request_tokens: most tokens that one call may bring.
        queued_tokens: most tokens that may wait; background calls do not count.
    """

    batch_tokens: int
    request_tokens: int
    queued_tokens: int
    window: int = 1024


def due(arrived_s: float, tokens: int, *, bulk: bool) -> float:
    """When a text wants to run, of a request that has so many tokens up to its end; what is due first runs first.

    Small requests thus pass large ones, which go on in their gaps, and background ones come last. But what is due when
    never changes, and what arrives later is due later: so whoever waits is passed for a limited time only.

    >>> due(10.0, 20, bulk=False), due(9.0, 4000, bulk=False), due(0.0, 1000, bulk=True)
    (10.02, 13.0, 16.0)
    """
    return arrived_s + tokens * PATIENCE_S_PER_TOKEN + (BULK_PATIENCE_S if bulk else 0.0)


def next_batch(waiting: Sequence[Waiting], limits: Limits) -> list[int]:
    """Positions of the texts that run next, of a queue in the order of `due`; empty only if none waits.

    The one that is due first always runs. Its company are those of its group nearest to it in length, as many as fit,
    and of equal length those due first; but nobody is padded to much more than twice its length, for some runtimes pad,
    which takes as long as text. So nobody starves, and little is padded.

    >>> queue = [Waiting(5, "m", 1.0), Waiting(90, "m", 1.1), Waiting(6, "m", 1.2), Waiting(5, "other", 1.3)]
    >>> next_batch(queue, Limits(batch_tokens=30, request_tokens=1000, queued_tokens=1000))
    [0, 2]
    """
    if not waiting:
        return []
    first = waiting[0]
    company = [i for i, text in enumerate(waiting[: limits.window]) if i > 0 and text.group == first.group]
    company.sort(key=lambda i: abs(waiting[i].tokens - first.tokens))
    batch, tokens, shortest, longest = [0], first.tokens, first.tokens, first.tokens
    for i in company:
        tokens += waiting[i].tokens
        shortest, longest = min(shortest, waiting[i].tokens), max(longest, waiting[i].tokens)
        if tokens > limits.batch_tokens or longest > 2 * shortest + SLACK:
            break
        batch.append(i)
    return batch
