"""The one thread that owns the models."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from models.embeddings import TokenEmbeddings, Want
from models.protocols import Encoder
from models.text import Role, TokenizedText, Truncate
from service.batching.policy import Limits, Waiting, next_batch
from service.errors import NotReady
from service.observability.metrics import Metrics
from service.observability.timings import record, timed

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Order:
    """One call's texts, on their way through the model."""

    encoder: Encoder
    want: Want
    texts: Sequence[TokenizedText]
    future: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop
    submitted: float
    results: list[TokenEmbeddings | None]
    missing: int
    began: float | None = None
    encode_s: float = 0.0
    departed: bool = False

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
        self.waiting = Waiting(len(self.text), (id(self.order.encoder), self.order.want))

    @property
    def text(self) -> TokenizedText:
        return self.order.texts[self.position]


class Worker:
    """Encodes what callers hand in, a batch at a time, in the order that `next_batch` decides.

    Tokenising runs in a thread of its own, so that the next batch is ready when the model is. A failed pass fails the
    calls that had texts in it, and no other; a caller who left takes the rest of its texts along.
    """

    def __init__(self, limits: Limits, metrics: Metrics, idle_check_s: float) -> None:
        self._limits = limits
        self._metrics = metrics
        self._idle_check_s = idle_check_s
        self._tokeniser = ThreadPoolExecutor(1, "tokeniser")
        self._queue: list[_Item] = []
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
        with timed("tokenise"):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._tokeniser, encoder.tokenize, texts, role, truncate)

    async def encode(self, encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Embeddings of each text, in order. Raises NotReady when the worker has stopped."""
        if not tokenized:
            return []
        loop = asyncio.get_running_loop()
        order = _Order(
            encoder=encoder,
            want=want,
            texts=tokenized,
            future=loop.create_future(),
            loop=loop,
            submitted=time.perf_counter(),
            results=[None] * len(tokenized),
            missing=len(tokenized),
        )
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
        with self._wake:
            if self._stopping:
                raise NotReady("the service is going down")
            self._queue.extend(_Item(order, i) for i in range(len(order.texts)))
            self._metrics.queued_tokens.set(sum(item.waiting.tokens for item in self._queue))
            self._wake.notify()

    def _run(self) -> None:
        """The life of the thread. However it ends, nobody is left waiting."""
        try:
            while (batch := self._next()) is not None:
                if batch:
                    self._pass(batch)
                else:
                    self._try_model()
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
            chosen = set(next_batch([item.waiting for item in self._queue], self._limits))
            batch = [item for i, item in enumerate(self._queue) if i in chosen]
            self._queue = [item for i, item in enumerate(self._queue) if i not in chosen]
            self._metrics.queued_tokens.set(sum(item.waiting.tokens for item in self._queue))
            return batch

    def _pass(self, batch: Sequence[_Item]) -> None:
        first = batch[0].order
        orders = {item.order for item in batch}
        began = time.perf_counter()
        for order in orders:
            order.began = order.began or began
        try:
            results = first.encoder.encode([item.text for item in batch], first.want)
            for item, result in zip(batch, results, strict=True):
                item.order.results[item.position] = result
                item.order.missing -= 1
        except Exception as error:
            log.exception("a pass of %d texts failed", len(batch))
            for order in orders:
                order.settle(error)
            return
        self._answered = time.monotonic()
        self._measure(batch)
        for order in orders:
            order.encode_s += time.perf_counter() - began
            if order.missing == 0:
                order.settle()

    def _measure(self, batch: Sequence[_Item]) -> None:
        lengths = [item.waiting.tokens for item in batch]
        self._metrics.batch_texts.observe(len(batch))
        self._metrics.batch_tokens.labels("real").inc(sum(lengths))
        self._metrics.batch_tokens.labels("padding").inc(max(lengths) * len(lengths) - sum(lengths))

    def _try_model(self) -> None:
        if self._watched is None:
            return
        encoder, texts = self._watched
        try:
            encoder.encode(texts, "pooled")
        except Exception:
            log.exception("the model did not answer a pass of one token")
        else:
            self._answered = time.monotonic()
