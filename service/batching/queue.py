"""What callers hand in, and the queue in which it waits. Not safe for threads by itself: the worker's lock is held."""

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
from semblance.service.batching.completion import Outcome
from semblance.service.batching.policy import Limits, Waiting, due, next_batch
from semblance.service.errors import Overloaded, TooManyTokens
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.embedding import Urgency

LONGEST_WAIT_S = 120  # that a refused client is told to stay away: by then much may have changed


@dataclass(eq=False, slots=True)
class Order:
    """One call's texts, on their way through the model."""

    encoder: Encoder
    want: Want
    texts: Sequence[TokenizedText]
    bulk: bool
    future: asyncio.Future[None]
    submitted: float = field(default_factory=time.perf_counter)
    items: list[Item] = field(default_factory=list)  # a text each
    results: list[TokenEmbeddings | None] = field(init=False)
    missing: int = field(init=False)
    began: float | None = None
    encode_s: float = 0.0
    over: bool = False  # answered, failed, or left by its caller: nothing of it need run any more

    def __post_init__(self) -> None:
        self.missing = len(self.texts)
        self.results = [None] * self.missing

    @property
    def urgency(self) -> Urgency:
        """What its tokens are counted as while they wait."""
        return "bulk" if self.bulk else "interactive"


@dataclass(eq=False, slots=True)
class Item:
    """A text that waits or runs, and which texts of which orders it is: the same one is encoded once."""

    key: Hashable
    encoder: Encoder
    want: Want
    text: TokenizedText
    waiting: Waiting
    urgency: Urgency
    wanted_by: list[tuple[Order, int]] = field(default_factory=list)
    queued: bool = False

    @property
    def wanted(self) -> bool:
        """Whether anybody still waits for it."""
        return any(not order.over for order, _ in self.wanted_by)


class Queue:
    """Texts in the order in which they are due. Tokens are counted as they come and go: it can be long."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._items: SortedKeyList[Item, float] = SortedKeyList(key=lambda item: item.waiting.due)
        self._under_way: dict[Hashable, Item] = {}  # those that wait, and those that run
        self._left_behind = 0  # items that nobody wants any more, of `_items`
        self._tokens: dict[Urgency, int] = {"interactive": 0, "bulk": 0}

    def __bool__(self) -> bool:
        return len(self._items) > self._left_behind

    def put(self, order: Order, tokens_per_s: float | None) -> None:
        """Let all texts of an order wait, or none; `tokens_per_s` is what the model is known to do.

        A text that waits or runs already is not queued again, but is due when the more urgent of its orders needs it.

        Raises:
            TooManyTokens, Overloaded: not for background orders.
        """
        keys = [_key(order, text) for text in order.texts]
        if not order.bulk:
            self._admit(order, keys, tokens_per_s)
        group = (id(order.encoder), order.want, order.bulk)
        ends = accumulate(len(text) for text in order.texts)
        for position, (key, text, end) in enumerate(zip(keys, order.texts, ends, strict=True)):
            waiting = Waiting(len(text), group, due(order.submitted, end, bulk=order.bulk))
            item = self._under_way.get(key)
            if item is None:
                item = self._under_way[key] = Item(key, order.encoder, order.want, text, waiting, order.urgency)
                self._queue(item)
            elif item.queued and waiting.due < item.waiting.due:
                self._items.remove(item)
                self._count(item, -1)
                item.waiting, item.urgency = waiting, order.urgency
                self._queue(item)
            item.wanted_by.append((order, position))
            order.items.append(item)
        self._show()

    def take(self) -> list[Item]:
        """The texts that run next; empty only if none waits."""
        if self._left_behind:
            self._items = SortedKeyList((item for item in self._items if item.queued), self._items.key)
            self._left_behind = 0
        front = list(islice(self._items, self._limits.window))
        chosen = next_batch([item.waiting for item in front], self._limits)
        for i in sorted(chosen, reverse=True):
            del self._items[i]
        for i in chosen:
            self._unqueue(front[i])
        self._show()
        return [front[i] for i in chosen]

    def start(self, batch: Sequence[Item], began: float) -> list[Item]:
        """Of a batch that was taken, what somebody still waits for; the rest is forgotten."""
        wanted = [item for item in batch if item.wanted]
        for item in batch:
            if not item.wanted:
                del self._under_way[item.key]
        for item in wanted:
            for order, _ in item.wanted_by:
                order.began = order.began or began
        return wanted

    def finish(self, batch: Sequence[Item], results: Sequence[TokenEmbeddings], seconds: float) -> list[Outcome]:
        """Hand out what a pass made in so many seconds; the outcomes of the orders that have everything now."""
        whole: list[Outcome] = []
        touched: set[Order] = set()
        now = time.perf_counter()
        for item, result in zip(batch, results, strict=True):
            del self._under_way[item.key]
            for order, position in item.wanted_by:
                order.results[position] = result
                order.missing -= 1
                touched.add(order)
        for order in touched:
            order.encode_s += min(seconds, now - order.submitted)  # it may have joined a pass that was running
            if order.missing == 0 and not order.over:
                order.over = True
                whole.append(Outcome(order.future))
        return whole

    def fail(self, item: Item, error: BaseException) -> list[Outcome]:
        """A text cannot be encoded; the outcomes of all orders that hold it."""
        del self._under_way[item.key]
        failed = {order for order, _ in item.wanted_by if not order.over}
        for order in failed:
            self.let_go(order)
        return [Outcome(order.future, error=error) for order in failed]

    def let_go(self, order: Order) -> None:
        """An order is over; of its texts, those that nobody else waits for are dropped."""
        if order.over:
            return
        order.over = True
        for item in order.items:
            if item.queued and not item.wanted:
                self._unqueue(item)
                del self._under_way[item.key]
                self._left_behind += 1
        self._show()

    def empty(self, error: Exception) -> list[Outcome]:
        """Forget everything, what runs too; the outcomes of all orders."""
        orders = {order for item in self._under_way.values() for order, _ in item.wanted_by if not order.over}
        for order in orders:
            order.over = True
        self._items.clear()
        self._left_behind = 0
        self._under_way.clear()
        return [Outcome(order.future, error=error) for order in orders]

    def _admit(self, order: Order, keys: Sequence[Hashable], tokens_per_s: float | None) -> None:
        """Refuse what would wait too long: in the same breath as it is queued, so that no burst slips by."""
        tokens = sum(len(text) for text in order.texts)
        if tokens > self._limits.request_tokens:
            raise TooManyTokens(
                f"the texts have {tokens:,} tokens that are not cached; at most {self._limits.request_tokens:,} "
                "are encoded in one request: send fewer at a time"
            )
        new = {key: len(text) for key, text in zip(keys, order.texts, strict=True) if self._adds(key)}
        waiting = self._tokens["interactive"]
        if waiting + sum(new.values()) > self._limits.queued_tokens:
            wait_s = min(math.ceil(waiting / tokens_per_s), LONGEST_WAIT_S) if tokens_per_s else 1
            raise Overloaded(f"{waiting:,} tokens are waiting for the model already: try again later", wait_s)

    def _adds(self, key: Hashable) -> bool:
        """Whether a text would add to the tokens of those who do not wait in the background."""
        item = self._under_way.get(key)
        return item is None or (item.queued and item.urgency == "bulk")

    def _queue(self, item: Item) -> None:
        item.queued = True
        self._items.add(item)
        self._count(item, 1)

    def _unqueue(self, item: Item) -> None:
        item.queued = False
        self._count(item, -1)

    def _count(self, item: Item, sign: int) -> None:
        self._tokens[item.urgency] += sign * item.waiting.tokens

    def _show(self) -> None:
        for urgency, tokens in self._tokens.items():
            self._metrics.queued(urgency, tokens)


def _key(order: Order, text: TokenizedText) -> Hashable:
    """What is the same for texts of which the model makes the same."""
    return id(order.encoder), order.want, text.text, text.ids.tobytes(), text.spans.tobytes()
