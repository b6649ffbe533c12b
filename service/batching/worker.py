"""The threads that own the models."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.encoders.checked import model_failed, unusable
from semblance.models.errors import DeviceLost, ModelFailed
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.batching.policy import MIN_BATCH, Limits
from semblance.service.batching.queue import Queue
from semblance.service.batching.requests import QueuedRequest, QueuedText
from semblance.service.batching.tokenizer import TokenizerThread
from semblance.service.callers import current_caller
from semblance.service.errors import NotReady
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.stages import record_stage, timed
from semblance.service.threads import deliver

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 0.3  # for the running batches, whose callers are gone


class Worker:
    """Encodes the texts of all callers, who share the model fairly.

    Each thread runs one batch at a time, from one queue: batches do not wait for each other, and what waits is divided
    among the threads that are free. A device that runs one batch at a time needs one thread. Tokenizing runs in a
    thread of its own, so that the next batch is ready when the model is. Texts that the model fails on, or gives no
    finite vectors, are retried in halves, since one may spoil the others: only callers of those that fail alone get the
    error. The queued texts of a cancelled call are dropped. When the device is lost, all callers get NotReady and
    `on_lost` is called.
    """

    def __init__(
        self,
        limits: Limits,
        metrics: Metrics,
        idle_check_s: float,
        on_lost: Callable[[], None] = lambda: None,
        threads: int = 1,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._metrics = metrics
        self._idle_check_s = idle_check_s
        self._on_lost = on_lost
        self._clock = clock
        self.max_request_tokens = limits.request_tokens
        self._tokenizer = TokenizerThread()
        batch_tokens = min(limits.batch_tokens, max(limits.batch_tokens // threads, MIN_BATCH))
        self._queue = Queue(replace(limits, batch_tokens=batch_tokens), metrics, clock)
        self._wake = threading.Condition()
        self._stopping = False
        self._probe: tuple[Encoder, list[TokenizedText]] | None = None
        self._running = 0  # threads with a batch
        self._threads = [
            threading.Thread(target=self._run, args=(number,), name=f"model-{number}", daemon=True)
            for number in range(threads)
        ]
        self._last_success = [-math.inf] * threads
        for thread in self._threads:
            thread.start()

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        """Tokens of each text. Raises BadTexts."""
        with timed("tokenise"):
            return await self._tokenizer.tokenize(encoder, texts, role, truncate)

    async def encode(
        self, encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want, *, bulk: bool = False
    ) -> list[TokenEmbeddings]:
        """Embeddings of each text, in order. Background calls (`bulk`) run last, never rejected.

        Raises:
            ModelFailed: names the texts that the model fails on.
            TooManyTokens: the call exceeds its limit.
            Overloaded: the queue exceeds its limit, and the caller has its share of it.
            NotReady: the worker has stopped.
        """
        if not tokenized:
            return []
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        request = QueuedRequest(encoder, want, tokenized, bulk, current_caller(), future, self._clock())
        self._submit(request)
        try:
            await request.future
        finally:  # after a success too, where it has no effect
            self._close(request)
        record_stage("queue", request.submitted, request.started or request.submitted)
        last = 0.0
        for began, ended in sorted(request.batches):  # they may run at the same time, which counts once
            if ended > last:
                record_stage("encode", max(began, last), ended)
                last = ended
        if failed := [position for position, result in enumerate(request.results) if result is None]:
            raise model_failed(encoder, failed)
        return [result for result in request.results if result is not None]

    async def watch(self, encoder: Encoder) -> None:
        """Encode one token now, as a warm-up, and again after each `idle_check_s` without work."""
        texts = await self.tokenize(encoder, ["1"], "query", "END")
        with suppress(ModelFailed):  # it answers, if not for this text
            await self.encode(encoder, texts, "pooled")
        self._last_success = [self._clock()] * len(self._threads)  # those that did nothing yet are not overdue
        self._probe = (encoder, texts)

    def answered_within(self, seconds: float) -> bool:
        """Whether each thread finished a batch in the last `seconds`."""
        now = self._clock()
        return all(now - each <= seconds for each in self._last_success)

    def stop(self) -> None:
        """Fail queued requests and end the threads, without waiting for a long batch."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        ends = time.monotonic() + STOP_TIMEOUT_S
        for thread in self._threads:
            thread.join(max(0.0, ends - time.monotonic()))
        self._tokenizer.stop()

    def _submit(self, request: QueuedRequest) -> None:
        with self._wake:
            if self._stopping:
                raise NotReady()
            self._queue.put(request)
            self._wake.notify()

    def _close(self, request: QueuedRequest) -> None:
        with self._wake:
            self._queue.close(request)

    def _run(self, number: int) -> None:
        """Main loop of a thread.

        However it ends, every caller gets a response, and the other threads end, too.
        """
        try:
            while (batch := self._next_batch()) is not None:
                if self._run_batch(batch) if batch else self._probe_model():
                    self._last_success[number] = self._clock()
                if batch:
                    with self._wake:
                        self._running -= 1
        except BaseException:
            log.critical("device or model thread failed; exiting", exc_info=True)
            self._on_lost()
        finally:
            with self._wake:
                self._stopping = True
                unanswered = self._queue.clear(NotReady())
                self._wake.notify_all()
            deliver(unanswered)

    def _next_batch(self) -> list[QueuedText] | None:
        """Wait for the next batch: an empty one after `idle_check_s` without work, None at the end."""
        with self._wake:
            self._wake.wait_for(lambda: self._queue or self._stopping, self._idle_check_s)
            if self._stopping:
                return None
            batch = self._queue.take(len(self._threads) - self._running)
            if batch:
                self._running += 1
            if self._queue:  # left for another thread
                self._wake.notify()
            return batch

    def _run_batch(self, batch: Sequence[QueuedText]) -> bool:
        """Encode a batch; in halves what fails of it, as for lack of memory or because of one text.

        Returns whether the model encoded any of its texts.
        """
        began = self._clock()
        with self._wake:
            batch = self._queue.start(batch, began)
        if not batch:
            return False
        encoded = self._encode(batch)
        failed = [text for text in batch if text not in encoded]
        if encoded:
            self._finish(list(encoded), list(encoded.values()), self._clock() - began)
        if len(batch) == 1 and failed:
            with self._wake:
                completions = self._queue.fail(failed[0])
            deliver(completions)
        elif failed:
            middle = (len(failed) + 1) // 2
            halves = [self._run_batch(failed[:middle]), self._run_batch(failed[middle:])]
            return bool(encoded) or any(halves)
        return bool(encoded)

    def _encode(self, batch: Sequence[QueuedText]) -> Mapping[QueuedText, TokenEmbeddings]:
        """Embeddings of the texts of a batch on which the model does not fail. Raises DeviceLost."""
        encoder, want = batch[0].encoder, batch[0].want
        texts = [text.text for text in batch]
        try:
            results = encoder.encode(texts, want)
        except DeviceLost:
            raise
        except BaseException:
            log.exception("the model %s failed on a batch of %d texts", encoder.name, len(batch))
            self._metrics.failed_batches.inc()
            return {}
        if failed := unusable(results, texts, encoder.dim, want):
            log.error("the model %s gave %d of %d texts no finite vectors", encoder.name, len(failed), len(batch))
            self._metrics.failed_batches.inc()
        return {text: results[at] for at, text in enumerate(batch) if at not in failed}

    def _finish(self, batch: Sequence[QueuedText], results: Sequence[TokenEmbeddings], seconds: float) -> None:
        with self._wake:
            completions = self._queue.finish(batch, results, seconds, self._running)
        deliver(completions)  # before the metrics: callers wait
        self._metrics.add_batch([text.candidate.tokens for text in batch], seconds)

    def _probe_model(self) -> bool:
        """Encode one token. Returns whether that succeeded."""
        if self._probe is None:
            return False
        encoder, texts = self._probe
        try:
            encoder.encode(texts, "pooled")
        except DeviceLost:
            raise
        except BaseException:
            log.exception("the model failed to encode one token")
            return False
        return True
