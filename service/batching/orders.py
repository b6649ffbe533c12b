"""What callers hand in, and the queue in which it waits. Not safe for threads by itself: the worker's lock is held."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

from sortedcontainers import SortedKeyList

from models.embeddings import TokenEmbeddings, Want
from models.protocols import Encoder
from models.text import TokenizedText
from service.batching.policy import Limits, Waiting, due, next_batch
from service.errors import Overloaded, TooManyTokens
from service.observability.metrics import Metrics

LONGEST_WAIT_S = 120  # that a refused client is told to stay away: by then much may have changed


@dataclass(eq=False, slots=True)
class Order:
    """One call's texts, on their way through the model."""

    encoder: Encoder
    want: Want
    texts: Sequence[TokenizedText]
    bulk: bool
    future: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop
    submitted: float = field(default_factory=time.perf_counter)
    tokens: int = field(init=False)
    results: list[TokenEmbeddings | None] = field(init=False)
    missing: int = field(init=False)
    queued: int = 0  # of its tokens
    began: float | None = None
    encode_s: float = 0.0
    over: bool = False  # answered, failed, or left by its caller: nothing of it need run any more

    def __post_init__(self) -> None:
        self.tokens = sum(len(text) for text in self.texts)
        self.missing = len(self.texts)
        self.results = [None] * self.missing

    def settle(self, error: BaseException | None = None) -> None:
        """Wake the caller, who may have left."""

        def wake() -> None:
            if not self.future.done():
                self.future.set_exception(error) if error else self.future.set_result(None)

        self.loop.call_soon_threadsafe(wake)


@dataclass(frozen=True, eq=False, slots=True)
class Item:
    """One text of an order."""

    order: Order
    position: int
    waiting: Waiting

    @property
    def text(self) -> TokenizedText:
        """The text itself."""
        return self.order.texts[self.position]


class Queue:
    """Texts in the order in which they are due. Tokens are counted as they come and go: it can be long."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._items: SortedKeyList[Item, float] = SortedKeyList(key=lambda item: item.waiting.due)
        self._left_behind = False  # texts of orders that are over
        self._tokens = {"interactive": 0, "bulk": 0}

    def __bool__(self) -> bool:
        return bool(self._items)

    def put(self, order: Order, tokens_per_s: float | None) -> None:
        """Let all texts of an order wait, or none; `tokens_per_s` is what the model is known to do.

        Raises:
            TooManyTokens, Overloaded: not for background orders.
        """
        if not order.bulk:
            self._admit(order, tokens_per_s)
        self._items.update(_items(order))
        self._count(order, order.tokens)

    def take(self) -> list[Item]:
        """The texts that run next; empty only if none waits."""
        if self._left_behind:
            self._items = SortedKeyList((item for item in self._items if not item.order.over), self._items.key)
            self._left_behind = False
        front = list(islice(self._items, self._limits.window))
        chosen = next_batch([item.waiting for item in front], self._limits)
        for i in sorted(chosen, reverse=True):
            del self._items[i]
        batch = [front[i] for i in chosen]
        for item in batch:
            self._count(item.order, -item.waiting.tokens)
        return batch

    def let_go(self, order: Order) -> None:
        """An order is over; its texts are dropped when the queue is looked at next."""
        order.over = True
        self._left_behind |= order.queued > 0
        self._count(order, -order.queued)

    def empty(self) -> set[Order]:
        """Forget everything; whose it was."""
        orders = {item.order for item in self._items}
        self._items.clear()
        return orders

    def _admit(self, order: Order, tokens_per_s: float | None) -> None:
        """Refuse what would wait too long: in the same breath as it is queued, so that no burst slips by."""
        if order.tokens > self._limits.request_tokens:
            raise TooManyTokens(
                f"the texts have {order.tokens:,} tokens that are not cached; at most {self._limits.request_tokens:,} "
                "are encoded in one request: send fewer at a time"
            )
        waiting = self._tokens["interactive"]
        if waiting + order.tokens > self._limits.queued_tokens:
            wait_s = min(math.ceil(waiting / tokens_per_s), LONGEST_WAIT_S) if tokens_per_s else 1
            raise Overloaded(f"{waiting:,} tokens are waiting for the model already: try again later", wait_s)

    def _count(self, order: Order, tokens: int) -> None:
        """Tokens of an order that joined the queue or, if negative, left it."""
        order.queued += tokens
        urgency = "bulk" if order.bulk else "interactive"
        self._tokens[urgency] += tokens
        self._metrics.queued_tokens.labels(urgency).set(self._tokens[urgency])


def _items(order: Order) -> Iterator[Item]:
    group = (id(order.encoder), order.want, order.bulk)
    ends = accumulate(len(text) for text in order.texts)
    for position, (text, end) in enumerate(zip(order.texts, ends, strict=True)):
        yield Item(order, position, Waiting(len(text), group, due(order.submitted, end, bulk=order.bulk)))
