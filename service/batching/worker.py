"""The one thread that owns the models."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.errors import BadTexts, DeviceLost, TextProblem
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.batching.completion import send_home
from semblance.service.batching.policy import Limits
from semblance.service.batching.queue import Item, Order, Queue
from semblance.service.batching.throughput import Speed
from semblance.service.batching.tokenizer import Tokeniser
from semblance.service.errors import NotReady
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.timings import record, timed

log = logging.getLogger(__name__)

TOKENISED_AT_ONCE = 64  # texts, so that a call with thousands lets others in between
LAST_PASS_S = 0.3  # for the pass under way at the end, whose callers are gone
CHARS_AT_ONCE = 50_000  # of them together, which take about 20 ms, unless one alone has more


class Worker:
    """Encodes what callers hand in, a batch at a time, in the order that `next_batch` decides.

    Tokenising runs in a thread of its own, so that the next batch is ready when the model is. A pass that fails is
    tried again in halves, down to the one text that fails it: only that one's caller gets the error. A caller who left
    takes the rest of its texts along. When the device itself is lost, everybody gets NotReady and `on_lost` is called.
    """

    def __init__(
        self, limits: Limits, metrics: Metrics, idle_check_s: float, on_lost: Callable[[], None] = lambda: None
    ) -> None:
        self._metrics = metrics
        self._idle_check_s = idle_check_s
        self._on_lost = on_lost
        self._tokeniser = Tokeniser()
        self._queue = Queue(limits, metrics)
        self._speed = Speed()
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
        tokenized: list[TokenizedText] = []
        problems: list[TextProblem] = []
        with timed("tokenise"):
            for start, some in _parts(texts):
                try:
                    tokenized += await self._tokeniser.tokenize(encoder, some, role, truncate)
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
        order = Order(encoder, want, tokenized, bulk, asyncio.get_running_loop().create_future())
        self._submit(order)
        try:
            await order.future
        finally:
            self._let_go(order)
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
        """Refuse what waits, and end the threads; a pass that takes long is not waited for."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(LAST_PASS_S)
        self._tokeniser.stop()

    def _submit(self, order: Order) -> None:
        with self._wake:
            if self._stopping:
                raise NotReady()
            self._queue.put(order, self._speed.tokens_per_s)
            self._wake.notify()

    def _let_go(self, order: Order) -> None:
        with self._wake:
            self._queue.let_go(order)

    def _run(self) -> None:
        """The life of the thread. However it ends, nobody is left waiting."""
        try:
            while (batch := self._next()) is not None:
                if batch:
                    self._pass(batch)
                else:
                    self._try_model()
        except BaseException:
            log.critical("the device is lost, or its thread: this process cannot go on", exc_info=True)
            self._on_lost()
        finally:
            with self._wake:
                self._stopping = True
                left = self._queue.empty(NotReady())
            send_home(left)

    def _next(self) -> list[Item] | None:
        """The next batch; an empty one when nothing came for a while, None at the end."""
        with self._wake:
            self._wake.wait_for(lambda: self._queue or self._stopping, self._idle_check_s)
            return None if self._stopping else self._queue.take()

    def _pass(self, batch: Sequence[Item]) -> None:
        """Encode a batch; in halves if that fails, as from a lack of memory or from a text that breaks the model."""
        began = time.perf_counter()
        with self._wake:
            batch = self._queue.start(batch, began)
        if not batch:
            return
        try:
            results = self._encoded(batch)
        except DeviceLost:
            raise
        except BaseException as error:
            log.exception("a pass of %d texts failed", len(batch))
            self._metrics.failed_passes.inc()
            if len(batch) == 1:
                with self._wake:
                    failed = self._queue.fail(batch[0], error)
                send_home(failed)
                return
            middle = len(batch) // 2
            self._pass(batch[:middle])
            self._pass(batch[middle:])
        else:
            self._finish(batch, results, time.perf_counter() - began)

    def _encoded(self, batch: Sequence[Item]) -> Sequence[TokenEmbeddings]:
        results = batch[0].encoder.encode([item.text for item in batch], batch[0].want)
        if len(results) != len(batch):
            raise ValueError(f"{len(batch)} texts went in, {len(results)} embeddings came out")
        return results

    def _finish(self, batch: Sequence[Item], results: Sequence[TokenEmbeddings], seconds: float) -> None:
        """A pass succeeded: wake those who have everything now."""
        self._answered = time.monotonic()
        with self._wake:
            whole = self._queue.finish(batch, results, seconds)
        send_home(whole)
        self._measure(batch, seconds)

    def _measure(self, batch: Sequence[Item], seconds: float) -> None:
        lengths = [item.waiting.tokens for item in batch]
        self._speed.passed(sum(lengths), seconds)
        self._metrics.passed(lengths, seconds)

    def _try_model(self) -> None:
        if self._watched is None:
            return
        encoder, texts = self._watched
        try:
            encoder.encode(texts, "pooled")
        except DeviceLost:
            raise
        except BaseException:
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
