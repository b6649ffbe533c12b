"""Which of the waiting texts pass through the model together. Pure: it decides, the worker acts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waiting:
    """A text in the queue: its length, and what it may share a pass with (same model, same kind of answer)."""

    tokens: int
    group: Hashable


@dataclass(frozen=True, slots=True)
class Limits:
    """`batch_tokens`: most tokens in a pass, padding included. `window`: how many waiting texts are looked at."""

    batch_tokens: int
    window: int = 1024


def next_batch(waiting: Sequence[Waiting], limits: Limits) -> list[int]:
    """Positions of the texts that run next; empty only if none waits.

    The one that waited longest always runs. Its company are those of its group nearest to it in length, as many as
    fit when all are padded to the longest. So nobody starves, and little is padded.

    >>> next_batch([Waiting(5, "m"), Waiting(90, "m"), Waiting(6, "m"), Waiting(5, "other")], Limits(batch_tokens=30))
    [0, 2]
    """
    if not waiting:
        return []
    first = waiting[0]
    company = [i for i, text in enumerate(waiting[: limits.window]) if i > 0 and text.group == first.group]
    company.sort(key=lambda i: abs(waiting[i].tokens - first.tokens))
    batch, longest = [0], first.tokens
    for i in company:
        widest = max(longest, waiting[i].tokens)
        if widest * (len(batch) + 1) > limits.batch_tokens:
            break
        batch.append(i)
        longest = widest
    return batch
