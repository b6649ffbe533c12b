"""The one thread that owns the models."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from models.embeddings import TokenEmbeddings, Want
from models.errors import BadTexts, DeviceLost, TextProblem
from models.protocols import Encoder
from models.text import Role, TokenizedText, Truncate
from service.batching.policy import Limits, Waiting, due, next_batch
from service.errors import NotReady, Overloaded, TooManyTokens
from service.observability.metrics import Metrics
from service.observability.timings import record, timed

log = logging.getLogger(__name__)

TOKENISED_AT_ONCE = 64  # texts, so that a call with thousands lets others in between
CHARS_AT_ONCE = 50_000  # of them together, which take about a tenth of a second, unless one alone has more
RATE_MEMORY = 0.9  # share of the past in the measured rate: about the last ten passes count


@dataclass(eq=False, slots=True)
class _Order:
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
    began: float | None = None
    encode_s: float = 0.0
    departed: bool = False

    def __post_init__(self) -> None:
        self.tokens = sum(len(text) for text in self.texts)
        self.missing = len(self.texts)
        self.results = [None] * self.missing

    def settle(self, error: BaseException | None = None) -> None:
        """Wake the caller, who may have left."""
        self.departed = True

        def wake() -> None:
            if not self.future.done():
                self.future.set_exception(error) if error else self.future.set_result(None)

        self.loop.call_soon_threadsafe(wake)


@dataclass(eq=False, slots=True)
class _Item:
    order: _Order
    position: int
    waiting: Waiting = field(init=False)

    def __post_init__(self) -> None:
        order = self.order
        self.waiting = Waiting(
            tokens=len(self.text),
            group=(id(order.encoder), order.want, order.bulk),
            due=due(order.submitted, order.tokens, bulk=order.bulk),
        )

    @property
    def text(self) -> TokenizedText:
        return self.order.texts[self.position]


class Worker:
    """Encodes what callers hand in, a batch at a time, in the order that `next_batch` decides.

    Tokenising runs in a thread of its own, so that the next batch is ready when the model is. A pass that fails is
    tried again in halves, down to the one text that fails it: only that one's caller gets the error. A caller who left
    takes the rest of its texts along. When the device itself is lost, everybody gets NotReady and `on_lost` is called.
    """

    def __init__(
        self, limits: Limits, metrics: Metrics, idle_check_s: float, on_lost: Callable[[], None] = lambda: None
    ) -> None:
        self._limits = limits
        self._metrics = metrics
        self._idle_check_s = idle_check_s
        self._on_lost = on_lost
        self._tokeniser = ThreadPoolExecutor(1, "tokeniser")
        self._queue: list[_Item] = []  # in the order of `due`
        self._tokens_per_s: float | None = None
        self._wake = threading.Condition()
        self._stopping = False
        self._watched: tuple[Encoder, list[TokenizedText]] | None = None
        self._answered: float | None = None
        self._thread = threading.Thread(target=self._run, name="model", daemon=True)
        self._thread.start()

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        """Tokens of each text. Raises BadTexts."""
        loop = asyncio.get_running_loop()
        tokenized: list[TokenizedText] = []
        problems: list[TextProblem] = []
        with timed("tokenise"):
            for start, some in _parts(texts):
                try:
                    tokenized += await loop.run_in_executor(self._tokeniser, encoder.tokenize, some, role, truncate)
                except BadTexts as error:
                    problems += [replace(each, index=start + each.index) for each in error.problems]
        if problems:
            raise BadTexts(problems)
        return tokenized

    async def encode(
        self, encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want, *, bulk: bool = False
    ) -> list[TokenEmbeddings]:
        """Embeddings of each text, in order. Background calls (`bulk`) come after others, and are never refused.

        Raises:
            TooManyTokens: more than one call may bring.
            Overloaded: more than may wait.
            NotReady: the worker has stopped.
        """
        if not tokenized:
            return []
        loop = asyncio.get_running_loop()
        order = _Order(encoder, want, tokenized, bulk, loop.create_future(), loop)
        self._submit(order)
        try:
            await order.future
        finally:
            order.departed = True
        record("queue", (order.began or order.submitted) - order.submitted)
        record("encode", order.encode_s)
        return [result for result in order.results if result is not None]

    async def watch(self, encoder: Encoder) -> None:
        """Try this model with one token: now, to warm it up, and whenever there is no work for `idle_check_s`."""
        texts = await self.tokenize(encoder, ["1"], "query", "END")
        await self.encode(encoder, texts, "pooled")
        self._watched = (encoder, texts)

    def answered_within(self, seconds: float) -> bool:
        """Whether the model finished a pass in the last `seconds`."""
        return self._answered is not None and time.monotonic() - self._answered <= seconds

    def stop(self) -> None:
        """Finish the batch under way, refuse the rest, and end the threads."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()
        self._tokeniser.shutdown(wait=True)

    def _submit(self, order: _Order) -> None:
        items = [_Item(order, i) for i in range(len(order.texts))]
        with self._wake:
            if self._stopping:
                raise NotReady("the service is going down")
            if not order.bulk:
                self._admit(order)
            place = bisect_right(self._queue, items[0].waiting.due, key=lambda item: item.waiting.due)
            self._queue[place:place] = items
            self._show_queue()
            self._wake.notify()

    def _admit(self, order: _Order) -> None:
        """Refuse what would wait too long: counted in the same breath as it is queued, so that no burst slips by."""
        if order.tokens > self._limits.request_tokens:
            raise TooManyTokens(
                f"the texts have {order.tokens:,} tokens that are not cached; at most {self._limits.request_tokens:,} "
                "are encoded in one request: send fewer at a time"
            )
        waiting = sum(item.waiting.tokens for item in self._queue if not item.order.bulk and not item.order.departed)
        if waiting + order.tokens > self._limits.queued_tokens:
            wait_s = math.ceil(waiting / self._tokens_per_s) if self._tokens_per_s else 1
            raise Overloaded(f"{waiting:,} tokens are waiting for the model already: try again later", wait_s)

    def _show_queue(self) -> None:
        tokens = {False: 0, True: 0}
        for item in self._queue:
            tokens[item.order.bulk] += item.waiting.tokens
        for bulk, total in tokens.items():
            self._metrics.queued_tokens.labels("bulk" if bulk else "interactive").set(total)

    def _run(self) -> None:
        """The life of the thread. However it ends, nobody is left waiting."""
        try:
            while (batch := self._next()) is not None:
                if batch:
                    self._pass(batch)
                else:
                    self._try_model()
        except DeviceLost:
            log.critical("the device is lost: this process cannot go on", exc_info=True)
            self._on_lost()
        finally:
            with self._wake:
                self._stopping = True
                left = {item.order for item in self._queue}
                self._queue.clear()
            for order in left:
                order.settle(NotReady("the service is going down"))

    def _next(self) -> list[_Item] | None:
        """The next batch; an empty one when nothing came for a while, None at the end."""
        with self._wake:
            self._wake.wait_for(lambda: self._queue or self._stopping, self._idle_check_s)
            if self._stopping:
                return None
            self._queue = [item for item in self._queue if not item.order.departed]
            chosen = set(next_batch([item.waiting for item in self._queue[: self._limits.window]], self._limits))
            batch = [self._queue[i] for i in sorted(chosen)]
            self._queue = [item for i, item in enumerate(self._queue) if i not in chosen]
            self._show_queue()
            return batch

    def _pass(self, batch: Sequence[_Item]) -> None:
        """Encode a batch; in halves if that fails, as from a lack of memory or from a text that breaks the model."""
        batch = [item for item in batch if not item.order.departed]
        if not batch:
            return
        orders = {item.order for item in batch}
        first, began = batch[0].order, time.perf_counter()
        for order in orders:
            order.began = order.began or began
        try:
            results = first.encoder.encode([item.text for item in batch], first.want)
            for item, result in zip(batch, results, strict=True):
                item.order.results[item.position] = result
        except DeviceLost:
            for order in orders:
                order.settle(NotReady("the service is going down"))
            raise
        except Exception as error:
            log.exception("a pass of %d texts failed", len(batch))
            self._metrics.failed_passes.inc()
            if len(batch) == 1:
                first.settle(error)
                return
            middle = len(batch) // 2
            self._pass(batch[:middle])
            self._pass(batch[middle:])
            return
        self._answered = time.monotonic()
        self._measure(batch, time.perf_counter() - began)

    def _measure(self, batch: Sequence[_Item], seconds: float) -> None:
        lengths = [item.waiting.tokens for item in batch]
        rate = sum(lengths) / seconds
        known = self._tokens_per_s
        self._tokens_per_s = rate if known is None else RATE_MEMORY * known + (1 - RATE_MEMORY) * rate
        self._metrics.batch_texts.observe(len(batch))
        self._metrics.batch_tokens.labels("real").inc(sum(lengths))
        self._metrics.batch_tokens.labels("padding").inc(max(lengths) * len(lengths) - sum(lengths))
        self._metrics.pass_seconds.observe(seconds)
        for item in batch:
            item.order.missing -= 1
        for order in {item.order for item in batch}:
            order.encode_s += seconds
            if order.missing == 0:
                order.settle()

    def _try_model(self) -> None:
        if self._watched is None:
            return
        encoder, texts = self._watched
        try:
            encoder.encode(texts, "pooled")
        except DeviceLost:
            raise
        except Exception:
            log.exception("the model did not answer a pass of one token")
        else:
            self._answered = time.monotonic()


def _parts(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """What is tokenised at once, with the position of its first text."""
    start = chars = 0
    for i, text in enumerate(texts):
        if i > start and (i - start == TOKENISED_AT_ONCE or chars + len(text) > CHARS_AT_ONCE):
            yield start, texts[start:i]
            start, chars = i, 0
        chars += len(text)
    if texts:
        yield start, texts[start:]
