"""Decide which queued texts form the next batch. Pure functions: the queue acts on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from semblance.service.ports.embedding import Urgency

DELAY_S_PER_TOKEN = 0.001  # a request of 20 tokens overtakes those of 40 or more that arrived up to 20 ms earlier
BULK_DELAY_S = 15.0  # background work waits at most this long for requests that arrived later
PADDING_SLACK = 16  # tokens of padding that are always accepted: a batch of its own would cost as much
MIN_BATCH = 256  # smallest limit on the tokens of a batch: smaller batches cost more per token
MAX_SHARES = 100  # a waiting caller's debt falls by this part of all tokens served, however many callers are new


class Candidate(NamedTuple):
    """A queued text: its caller, tokens, due time, and group of texts that may share a batch."""

    caller: str
    tokens: int
    group: Hashable
    due: float
    urgency: Urgency = "interactive"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on batches and on the queue.

    Attributes:
        batch_tokens: maximum tokens in a batch, without padding.
        window: number of queued texts considered for a batch.
        request_tokens: maximum tokens of one call.
        queued_tokens: maximum tokens in the queue; background calls do not count.
        batch_s: seconds that a batch should take at most: a small request waits for those that run. See `MIN_BATCH`.
    """

    batch_tokens: int
    request_tokens: int
    queued_tokens: int
    batch_s: float = math.inf
    window: int = 1024


def due_time(arrived_s: float, tokens: int, *, bulk: bool) -> float:
    """Due time of a text, from the tokens of its request up to its end; for its caller's order.

    Small requests overtake large ones and run in their gaps; background requests come last. Since due times are fixed
    and later arrivals are due later, a text can only be overtaken for a limited time.

    >>> due_time(10.0, 20, bulk=False), due_time(9.0, 4000, bulk=False), due_time(0.0, 1000, bulk=True)
    (10.02, 13.0, 16.0)
    """
    return arrived_s + tokens * DELAY_S_PER_TOKEN + (BULK_DELAY_S if bulk else 0.0)


def turn_order(heads: Iterable[Candidate], debts: Mapping[str, float], now: float) -> list[str]:
    """Callers in the order of their turns.

    The caller with the smallest debt is first, of equal ones the caller whose text is due first. Callers who only wait
    for background work that is not due yet come last.

    >>> heads = [Candidate("a", 5, "m", 1.0), Candidate("b", 5, "m", 2.0), Candidate("c", 5, "m", 9.0, "bulk")]
    >>> turn_order(heads, {"a": 30.0}, now=3.0)
    ['b', 'a', 'c']

    Args:
        heads: the text of each waiting caller that is due first.
        debts: see `debts_after`.
        now: the current time, on the clock of the due times.
    """

    def turn(head: Candidate) -> tuple[bool, float, float]:
        return head.urgency == "bulk" and head.due > now, debts.get(head.caller, 0.0), head.due

    return [head.caller for head in sorted(heads, key=turn)]


def next_batch(window: Sequence[Candidate], limits: Limits, debts: Mapping[str, float]) -> list[int]:
    """Positions of the next batch among the considered texts; empty only if there are none.

    The first text always runs. Texts of its group join it, nearest in length first and then in their order, until the
    token budget is full. Texts that would be padded to much more than twice their length are left out: some runtimes
    pad, and padding costs as much as text. Callers who are a whole batch ahead of the first only take what is left.

    >>> texts = [Candidate("a", length, group, 1.0) for length, group in ((5, "m"), (90, "m"), (6, "m"), (5, "other"))]
    >>> next_batch(texts, Limits(batch_tokens=30, request_tokens=1000, queued_tokens=1000), {})
    [0, 2]
    """
    if not window:
        return []
    first = window[0]
    far_ahead = debts.get(first.caller, 0.0) + limits.batch_tokens

    def preference(i: int) -> tuple[bool, int]:
        return debts.get(window[i].caller, 0.0) >= far_ahead, abs(window[i].tokens - first.tokens)

    others = sorted((i for i in range(1, len(window)) if window[i].group == first.group), key=preference)
    batch, tokens, shortest, longest = [0], first.tokens, first.tokens, first.tokens
    for i in others:
        length = window[i].tokens
        if tokens + length > limits.batch_tokens:
            break
        if max(longest, length) <= 2 * min(shortest, length) + PADDING_SLACK:
            batch.append(i)
            tokens, shortest, longest = tokens + length, min(shortest, length), max(longest, length)
    return batch


def debts_after(debts: Mapping[str, float], batch: Sequence[Candidate], batch_tokens: int) -> dict[str, float]:
    """The debts of callers after a batch: tokens that each was served beyond the next one.

    This is start-time fair queueing. The texts of a batch count for their callers, and all debts are counted from that
    of its first caller. Callers without a debt are level with that one, so waiting for nothing saves no credit. A debt
    is at most two batches: what others left over delays a caller no longer than that. It also falls by a hundredth of
    all tokens served, so that a stream of new callers, who have no debt, cannot keep a waiting one back.

    >>> after = debts_after({"a": 50.0, "b": 80.0}, [Candidate("a", 30, "m", 1.0), Candidate("c", 20, "m", 2.0)], 1000)
    >>> sorted(after.items())
    [('a', 30.0), ('b', 30.0), ('c', 20.0)]

    Args:
        debts: the debts before the batch; callers that are left out have none.
        batch: its texts, the first one first.
        batch_tokens: maximum tokens in a batch; a single text may have more.
    """
    served = Counter[str]()
    for text in batch:
        served[text.caller] += text.tokens
    start = max(debts.get(batch[0].caller, 0.0), served.total() / MAX_SHARES)
    most = 2.0 * max(batch_tokens, served.total())
    callers = debts.keys() | served.keys()
    after = {each: min(max(debts.get(each, 0.0) - start, 0.0) + served[each], most) for each in callers}
    return {caller: debt for caller, debt in after.items() if debt > 0}


def room_of(caller: str, waiting: Mapping[str, int], queued_tokens: int) -> int:
    """Tokens that a caller may add to the queue, given the waiting tokens of each caller.

    It may fill the queue if no one else waits. An equal share is open to it even while others fill the queue: they are
    rejected more until the queue has room again.

    >>> room_of("a", {"a": 900}, 1000), room_of("a", {"a": 100, "b": 900}, 1000), room_of("a", {"b": 1000}, 1000)
    (100, 400, 500)
    """
    own = waiting.get(caller, 0)
    share = queued_tokens // len({caller, *waiting})
    return max(queued_tokens - sum(waiting.values()), share - own, 0)
