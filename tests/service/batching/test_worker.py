"""The thread that owns the models: everybody gets their own answer, or a reason, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadTexts
from semblance.models.text import TokenizedText
from semblance.service.batching.policy import Limits
from semblance.service.batching.queue import Order, Queue
from semblance.service.batching.worker import Worker
from semblance.service.errors import NotReady, Overloaded, TooManyTokens
from semblance.service.observability.metrics import Metrics
from tests.service.batching.slow_encoder import WAIT_S, Panic, Slow, held, numbers, queued, until

ROOMY = Limits(batch_tokens=4, request_tokens=10**6, queued_tokens=10**6)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(ROOMY, Metrics(), idle_check_s=60)
    yield worker
    worker.stop()


def test_many_callers_each_get_their_own_answers_in_order(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        slow.may_go.release(1000)
        calls = [[str(100 * call + i) for i in range(call % 7)] for call in range(40)]
        answers = await asyncio.gather(*[numbers(worker, slow, texts) for texts in calls])
        assert answers == [[float(text) for text in texts] for texts in calls]
        assert slow.thread == {"model"}, "one thread owns the model"

    asyncio.run(use())


def test_a_text_that_fails_its_pass_fails_its_own_caller_and_no_other(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["0"]))  # holds the model while the others gather
        await held(slow)
        calls = [["1", "2"], ["bad"], ["3"], ["4", "bad"], ["5"]]
        tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in calls]
        await queued(worker, 6)  # the bad one is one text
        slow.may_go.release(1000)
        assert await first == [0.0]
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert max(map(len, slow.batches)) > 1, "they shared a pass"
        assert [answers[0], answers[2], answers[4]] == [[1.0, 2.0], [3.0], [5.0]]
        assert [str(answers[1]), str(answers[3])] == ["a bad text", "a bad text"]

    asyncio.run(use())


def test_a_panic_of_the_library_fails_its_own_caller_and_no_other(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["0"]))
        await held(slow)
        tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in (["1"], ["panic"], ["2"])]
        await queued(worker, 3)
        slow.may_go.release(1000)
        answers = await asyncio.wait_for(asyncio.gather(first, *tasks, return_exceptions=True), WAIT_S)
        assert [answers[0], answers[1], answers[3]] == [[0.0], [1.0], [2.0]]
        assert repr(answers[2]) == "RuntimeError('a library panicked')"

    asyncio.run(use())


def test_a_thread_that_panics_lets_nobody_wait_and_is_reported() -> None:
    class Panicking(Metrics):
        def passed(self, lengths: Sequence[int], seconds: float) -> None:
            raise Panic(f"{lengths} {seconds}")

    async def use() -> None:
        lost = threading.Event()
        worker, slow = Worker(ROOMY, Panicking(), idle_check_s=60, on_lost=lost.set), Slow()
        first = asyncio.create_task(numbers(worker, slow, ["1"]))
        await held(slow)
        waiting = asyncio.create_task(numbers(worker, slow, ["2"]))
        await queued(worker, 1)
        slow.may_go.release(10)
        assert await first == [1.0]
        with pytest.raises(NotReady):
            await asyncio.wait_for(waiting, WAIT_S)
        assert await asyncio.to_thread(lost.wait, WAIT_S)

    asyncio.run(use())


def test_texts_and_their_tokens_are_counted_by_pass() -> None:
    async def use() -> None:
        metrics, slow = Metrics(), Slow()
        worker = Worker(ROOMY, metrics, idle_check_s=60)
        slow.may_go.release(1000)
        assert await numbers(worker, slow, [str(n) for n in range(6)]) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        await asyncio.to_thread(worker.stop)
        shown = metrics.exposition().decode()
        assert "semblance_batch_tokens_total 6.0" in shown
        assert "semblance_batch_texts_sum 6.0" in shown
        assert "semblance_batch_texts_count 2.0" in shown

    asyncio.run(use())


def test_a_batch_too_large_for_the_memory_is_encoded_in_parts(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow(room=1)
        slow.may_go.release(1000)
        assert await numbers(worker, slow, ["1", "2", "3", "4"]) == [1.0, 2.0, 3.0, 4.0]
        assert [len(batch) for batch in slow.batches] == [4, 2, 1, 1, 2, 1, 1]

    asyncio.run(use())


def test_a_lost_device_lets_nobody_wait_and_is_reported() -> None:
    async def use() -> None:
        lost = threading.Event()
        worker, slow = Worker(ROOMY, Metrics(), idle_check_s=60, on_lost=lost.set), Slow()
        tasks = [asyncio.create_task(numbers(worker, slow, ["1"]))]
        await held(slow)
        tasks += [asyncio.create_task(numbers(worker, slow, [text])) for text in ("lost", "2")]
        tasks += [asyncio.create_task(numbers(worker, slow, [str(n) for n in range(10, 19)]))]
        await queued(worker, 11)
        slow.may_go.release(1000)
        answers = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), WAIT_S)
        assert answers[0] == [1.0]
        assert [type(answer) for answer in answers[1:]] == [NotReady] * 3
        assert await asyncio.to_thread(lost.wait, WAIT_S)
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())


def test_small_requests_pass_large_ones_and_background_work_fills_the_gaps(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["0"]))
        await held(slow)
        bulk = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(200, 208)], bulk=True))
        large = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(1000, 1100)]))
        await queued(worker, 100, bulk=8)
        small = asyncio.create_task(numbers(worker, slow, ["1"]))
        await queued(worker, 101, bulk=8)
        slow.may_go.release(1000)
        await asyncio.gather(first, bulk, large, small)
        ran = [int(text) for batch in slow.batches for text in batch]
        assert ran.index(1) < 80, "the small one did not wait for all of the large one, which came earlier"
        assert ran[-8:] == list(range(200, 208)), "and background work after all"
        assert all(max(batch) < "2" or min(batch) >= "2" for batch in slow.batches[2:]), "in passes of its own"

    asyncio.run(use())


def test_what_would_wait_too_long_is_refused_at_the_door_with_a_time_to_come_back() -> None:
    async def use() -> None:
        limits = Limits(batch_tokens=4, request_tokens=10, queued_tokens=15)
        worker, slow = Worker(limits, Metrics(), idle_check_s=60), Slow()
        with pytest.raises(TooManyTokens, match="at most 10"):
            await numbers(worker, slow, [str(n) for n in range(11)])
        running = asyncio.create_task(numbers(worker, slow, ["99"]))
        await held(slow)
        waiting = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(10)]))
        background = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(100, 130)], bulk=True))
        await queued(worker, 10, bulk=30)
        with pytest.raises(Overloaded) as refused:
            await numbers(worker, slow, [str(n) for n in range(20, 26)])
        assert refused.value.retry_after_s >= 1
        fits = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(30, 35)]))
        await queued(worker, 15, bulk=30)
        waiting.cancel()
        await queued(worker, 5, bulk=30)  # those who left take no room
        slow.may_go.release(1000)
        assert await fits == [30.0, 31.0, 32.0, 33.0, 34.0]
        assert len(await background) == 30
        assert await running == [99.0]
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())


def test_of_many_calls_at_once_no_more_are_let_in_than_may_wait() -> None:
    async def use() -> None:
        worker, slow = Worker(Limits(4, 10, 20), Metrics(), idle_check_s=60), Slow()
        running = asyncio.create_task(numbers(worker, slow, ["0"]))
        await held(slow)
        burst = [asyncio.create_task(numbers(worker, slow, [f"{n}1", f"{n}2"])) for n in range(1, 51)]
        await until(lambda: sum(each.done() for each in burst) == 40)
        slow.may_go.release(1000)
        answers = await asyncio.gather(*burst, return_exceptions=True)
        answered = {n: answer for n, answer in enumerate(answers, 1) if not isinstance(answer, BaseException)}
        assert answered == {n: [10 * n + 1.0, 10 * n + 2.0] for n in answered}
        assert len(answered) == 10
        assert sum(isinstance(answer, Overloaded) for answer in answers) == 40
        await running
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())


def test_bad_texts_are_named_by_their_place_in_the_whole_call(minilm: Transformer, worker: Worker) -> None:
    async def use() -> None:
        texts = [f"text {n}" for n in range(150)]
        texts[3] = texts[140] = "  "
        with pytest.raises(BadTexts) as refused:
            await worker.tokenize(minilm, texts, "query", "END")
        assert [problem.index for problem in refused.value.problems] == [3, 140]
        good = [text for text in texts if text.strip()]
        assert [each.text for each in await worker.tokenize(minilm, good, "query", "END")] == good

    asyncio.run(use())


def test_an_encoder_that_returns_too_little_fails_its_callers_and_the_thread_lives_on(worker: Worker) -> None:
    class Short(Slow):
        def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
            return super().encode(tokenized, want)[:-1]

    async def use() -> None:
        short, slow = Short(), Slow()
        short.may_go.release(1000)
        slow.may_go.release(1000)
        with pytest.raises(ValueError, match="1 texts went in, 0 embeddings came out"):
            await asyncio.wait_for(numbers(worker, short, ["1", "2"]), WAIT_S)
        assert await asyncio.wait_for(numbers(worker, slow, ["3"]), WAIT_S) == [3.0]

    asyncio.run(use())


def test_a_caller_who_left_shifts_nobodys_answer_and_its_texts_are_dropped(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["1"]))  # holds the model
        await held(slow)
        leaving = asyncio.create_task(numbers(worker, slow, ["7", "8", "9"]))
        staying = asyncio.create_task(numbers(worker, slow, ["2", "3"]))
        await queued(worker, 5)
        leaving.cancel()
        await queued(worker, 2)
        slow.may_go.release(100)
        assert await first == [1.0]
        assert await staying == [2.0, 3.0]
        assert leaving.cancelled()
        assert not {"7", "8", "9"} & {text for batch in slow.batches for text in batch}

    asyncio.run(use())


def test_what_was_left_behind_is_no_work_to_wake_up_for() -> None:
    async def use() -> None:
        queue, slow, loop = Queue(ROOMY, Metrics()), Slow(), asyncio.get_running_loop()
        leaving, staying = [
            Order(slow, "tokens", slow.tokenize(texts, "query", "END"), False, loop.create_future())
            for texts in (["1", "2"], ["2", "3"])
        ]
        queue.put(leaving, None)
        assert queue
        queue.let_go(leaving)
        assert not queue
        queue.put(staying, None)
        assert queue
        assert [item.text.text for item in queue.take()] == ["2", "3"]
        assert not queue

    asyncio.run(use())


def test_an_idle_check_waits_for_an_idle_time_though_callers_left() -> None:
    async def use() -> None:
        worker, slow = Worker(ROOMY, Metrics(), idle_check_s=60), Slow()
        slow.may_go.release(1)
        await worker.watch(slow)
        slow.entered.clear()
        first = asyncio.create_task(numbers(worker, slow, ["2"]))
        await held(slow)
        leaving = asyncio.create_task(numbers(worker, slow, ["3"]))
        await queued(worker, 1)
        leaving.cancel()
        await queued(worker, 0)
        slow.entered.clear()
        slow.may_go.release(1)
        assert await first == [2.0]
        assert not await asyncio.to_thread(slow.entered.wait, 0.3), "the model was tried"
        slow.may_go.release(10)
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())


def test_nobody_is_left_waiting_when_the_worker_stops() -> None:
    async def use() -> None:
        worker, slow = Worker(ROOMY, Metrics(), idle_check_s=60), Slow()
        running = asyncio.create_task(numbers(worker, slow, ["1"]))
        await held(slow)
        waiting = asyncio.create_task(numbers(worker, slow, ["2"]))
        await queued(worker, 1)
        stopping = asyncio.create_task(asyncio.to_thread(worker.stop))
        await until(lambda: worker._stopping)
        slow.may_go.release(10)
        assert await running == [1.0]
        with pytest.raises(NotReady):
            await waiting
        await stopping
        with pytest.raises(NotReady):
            await numbers(worker, slow, ["3"])

    asyncio.run(use())


def test_an_idle_model_is_tried_and_a_dead_one_shows() -> None:
    async def use() -> None:
        worker, slow = Worker(ROOMY, Metrics(), idle_check_s=0.02), Slow()
        assert not worker.answered_within(60)
        slow.may_go.release(1)
        await worker.watch(slow)
        assert worker.answered_within(60), "it was warmed up"
        await until(lambda: not worker.answered_within(0.2))  # it hangs in its first try
        assert len(slow.batches) == 1
        slow.may_go.release(10_000)
        await until(lambda: worker.answered_within(0.2))  # it answers again
        await until(lambda: len(slow.batches) > 2)
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())
