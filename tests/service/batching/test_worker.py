"""The model threads: every caller gets its own result or an error, also of batches that run at the same time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadTexts, ModelFailed
from semblance.models.text import TokenizedText
from semblance.service.batching.policy import Limits
from semblance.service.batching.turns import MIN_TOKENS
from semblance.service.batching.worker import Worker
from semblance.service.errors import NotReady, Overloaded, TooManyTokens
from semblance.service.observability.metrics import Metrics
from tests.service.batching.slow_encoder import (
    NEVER_S,
    ROOMY,
    Panic,
    SlowEncoder,
    busy,
    new_worker,
    numbers,
    queued,
)
from tests.support.fake_clock import FakeClock
from tests.support.waiting import eventually


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = new_worker()
    yield worker
    worker.stop()


@pytest.mark.parametrize("text", ["bad", "panic", "nan", "inf"])
async def test_a_failing_text_fails_only_its_callers(worker: Worker, text: str) -> None:
    slow = SlowEncoder()
    first = await busy(worker, slow)
    calls = [["1", "2"], [text], ["3"], ["4", text], ["5"]]
    tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in calls]
    await queued(worker, 6)  # the failing text is queued once
    slow.permits.release(1000)
    assert await first == [0.0]
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert max(map(len, slow.batches)) > 1, "they shared a batch"
    assert [answers[0], answers[2], answers[4]] == [[1.0, 2.0], [3.0], [5.0]]
    failed = [each.problems for each in answers if isinstance(each, ModelFailed)]
    assert [[(each.index, each.code) for each in own] for own in failed] == [
        [(0, "model_failed")],
        [(1, "model_failed")],
    ]
    assert len(slow.thread) == 1, "one thread owns the model"


async def test_a_failed_thread_answers_every_caller_and_is_reported() -> None:
    class Panicking(Metrics):
        def add_batch(self, lengths: Sequence[int], seconds: float) -> None:
            raise Panic(f"{lengths} {seconds}")

    lost = threading.Event()
    worker, slow = Worker(ROOMY, Panicking(), NEVER_S, on_lost=lost.set), SlowEncoder()
    first = await busy(worker, slow, "1")
    waiting = asyncio.create_task(numbers(worker, slow, ["2"]))
    await queued(worker, 1)
    slow.permits.release(10)
    assert await first == [1.0]
    with pytest.raises(NotReady):
        await waiting
    await eventually(lost.is_set)


async def test_texts_and_tokens_are_counted_by_batch() -> None:
    metrics, slow = Metrics(), SlowEncoder()
    worker = Worker(ROOMY, metrics, NEVER_S)
    slow.permits.release(1000)
    assert await numbers(worker, slow, [str(n) for n in range(6)]) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    await asyncio.to_thread(worker.stop)
    shown = metrics.exposition().decode()
    assert "semblance_batch_tokens_total 6.0" in shown
    assert "semblance_batch_texts_sum 6.0" in shown
    assert "semblance_batch_texts_count 2.0" in shown


async def test_a_batch_too_large_for_memory_is_split(worker: Worker) -> None:
    slow = SlowEncoder(room=1)
    slow.permits.release(1000)
    assert await numbers(worker, slow, ["1", "2", "3", "4"]) == [1.0, 2.0, 3.0, 4.0]
    assert [len(batch) for batch in slow.batches] == [4, 2, 1, 1, 2, 1, 1]


async def test_a_lost_device_answers_every_caller_and_is_reported() -> None:
    lost = threading.Event()
    worker, slow = new_worker(on_lost=lost.set), SlowEncoder()
    tasks = [await busy(worker, slow, "1")]
    tasks += [asyncio.create_task(numbers(worker, slow, [text])) for text in ("lost", "2")]
    tasks += [asyncio.create_task(numbers(worker, slow, [str(n) for n in range(10, 19)]))]
    await queued(worker, 11)
    slow.permits.release(1000)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert answers[0] == [1.0]
    assert [type(answer) for answer in answers[1:]] == [NotReady] * 3
    await eventually(lost.is_set)
    await asyncio.to_thread(worker.stop)


async def test_small_requests_overtake_large_ones_and_background_work_runs_last(worker: Worker) -> None:
    slow = SlowEncoder()
    first = await busy(worker, slow)
    bulk = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(200, 208)], bulk=True))
    large = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(1000, 1100)]))
    await queued(worker, 100, bulk=8)
    small = asyncio.create_task(numbers(worker, slow, ["1"]))
    await queued(worker, 101, bulk=8)
    slow.permits.release(1000)
    await asyncio.gather(first, bulk, large, small)
    ran = [int(text) for batch in slow.batches for text in batch]
    assert ran.index(1) < 80, "the small request did not wait for all of the large one"
    assert ran[-8:] == list(range(200, 208)), "background work runs last"
    assert all(max(batch) < "2" or min(batch) >= "2" for batch in slow.batches[2:]), "in batches of its own"


async def test_another_caller_overtakes_a_backlog_that_is_due_earlier(worker: Worker) -> None:
    slow = SlowEncoder()
    flood = [asyncio.create_task(numbers(worker, slow, [str(n)], caller="flood")) for n in range(100)]
    await eventually(slow.entered.is_set)
    await eventually(lambda: worker._queue._turns.tokens["interactive"] >= 96)
    small = asyncio.create_task(numbers(worker, slow, ["1000", "1001"], caller="small"))
    await eventually(lambda: worker._queue._turns.interactive_tokens.get("small", 0) == 2)
    slow.permits.release(1000)
    await asyncio.gather(*flood, small)
    assert slow.batches[1][0] == "1000", "first in the batch after the one that was running"
    assert "1001" in slow.batches[1] + slow.batches[2]
    assert {len(batch) for batch in slow.batches[1:-1]} == {4}, "callers share batches, which stay full"


async def test_a_full_queue_has_room_for_another_caller() -> None:
    worker, slow = new_worker(Limits(4, 10, 20)), SlowEncoder()
    running = await busy(worker, slow, "99")
    flood = [[str(10 * n + i) for i in range(5)] for n in range(10, 15)]
    tasks = [asyncio.create_task(numbers(worker, slow, texts, caller="flood")) for texts in flood]
    await queued(worker, 20)
    with pytest.raises(Overloaded, match="20 tokens wait for the model already, 20 of them from this caller"):
        await tasks[-1]
    small = [str(n) for n in range(10)]
    tasks[-1] = asyncio.create_task(numbers(worker, slow, small, caller="small"))
    await queued(worker, 30)
    with pytest.raises(Overloaded, match="30 tokens wait for the model already, 10 of them from this caller"):
        await numbers(worker, slow, ["1000"], caller="small")
    slow.permits.release(1000)
    assert await asyncio.gather(running, *tasks) == [
        [99.0],
        *([float(each) for each in texts] for texts in (*flood[:4], small)),
    ]
    await asyncio.to_thread(worker.stop)


async def test_excess_load_is_refused_with_a_retry_time() -> None:
    worker, slow = new_worker(Limits(batch_tokens=4, request_tokens=10, queued_tokens=15)), SlowEncoder()
    with pytest.raises(TooManyTokens, match="limit of 10"):
        await numbers(worker, slow, [str(n) for n in range(11)])
    running = await busy(worker, slow, "99")
    waiting = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(10)]))
    background = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(100, 130)], bulk=True))
    await queued(worker, 10, bulk=30)
    with pytest.raises(Overloaded) as refused:
        await numbers(worker, slow, [str(n) for n in range(20, 26)])
    assert refused.value.retry_after_s >= 1
    fits = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(30, 35)]))
    await queued(worker, 15, bulk=30)
    waiting.cancel()
    await queued(worker, 5, bulk=30)  # cancelled texts leave the queue
    slow.permits.release(1000)
    assert await fits == [30.0, 31.0, 32.0, 33.0, 34.0]
    assert len(await background) == 30
    assert await running == [99.0]
    await asyncio.to_thread(worker.stop)


async def test_a_burst_does_not_exceed_the_queue_limit() -> None:
    worker, slow = new_worker(Limits(4, 10, 20)), SlowEncoder()
    running = await busy(worker, slow)
    burst = [asyncio.create_task(numbers(worker, slow, [f"{n}1", f"{n}2"])) for n in range(1, 51)]
    await eventually(lambda: sum(each.done() for each in burst) == 40)
    slow.permits.release(1000)
    answers = await asyncio.gather(*burst, return_exceptions=True)
    answered = {n: answer for n, answer in enumerate(answers, 1) if not isinstance(answer, BaseException)}
    assert answered == {n: [10 * n + 1.0, 10 * n + 2.0] for n in answered}
    assert len(answered) == 10
    assert sum(isinstance(answer, Overloaded) for answer in answers) == 40
    await running
    await asyncio.to_thread(worker.stop)


async def test_bad_texts_are_numbered_within_the_whole_call(minilm: Transformer, worker: Worker) -> None:
    texts = [f"text {n}" for n in range(150)]
    texts[3] = texts[140] = "  "
    with pytest.raises(BadTexts) as refused:
        await worker.tokenize(minilm, texts, "query", "END")
    assert [problem.index for problem in refused.value.problems] == [3, 140]
    good = [text for text in texts if text.strip()]
    assert [each.text for each in await worker.tokenize(minilm, good, "query", "END")] == good


async def test_missing_results_fail_the_callers_and_the_thread_continues(worker: Worker) -> None:
    class Short(SlowEncoder):
        def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
            return super().encode(tokenized, want)[:-1]

    short, slow = Short(), SlowEncoder()
    short.permits.release(1000)
    slow.permits.release(1000)
    with pytest.raises(ModelFailed) as failed:
        await numbers(worker, short, ["1", "2"])
    assert [each.index for each in failed.value.problems] == [0, 1]
    assert await numbers(worker, slow, ["3"]) == [3.0]


async def test_cancelled_calls_do_not_start_an_early_idle_check(worker: Worker) -> None:
    slow = SlowEncoder()
    slow.permits.release(1)
    await worker.watch(slow)
    slow.entered.clear()
    first = await busy(worker, slow, "2")
    leaving = asyncio.create_task(numbers(worker, slow, ["3"]))
    await queued(worker, 1)
    leaving.cancel()
    await queued(worker, 0)
    slow.permits.release(1)
    assert await first == [2.0]
    waiting = cast("Any", worker._wake)._waiters  # threads that wait for work
    await eventually(lambda: waiting or len(slow.began) > 2)
    slow.permits.release(10)
    assert await numbers(worker, slow, ["4"]) == [4.0]
    assert slow.batches == [["1"], ["2"], ["4"]], "the first is the one of `watch`"


async def test_stopping_answers_every_caller(worker: Worker) -> None:
    slow = SlowEncoder()
    running = await busy(worker, slow, "1")
    waiting = asyncio.create_task(numbers(worker, slow, ["2"]))
    await queued(worker, 1)
    stopping = asyncio.create_task(asyncio.to_thread(worker.stop))
    await eventually(lambda: worker._stopping)
    slow.permits.release(10)
    assert await running == [1.0]
    with pytest.raises(NotReady):
        await waiting
    await stopping
    with pytest.raises(NotReady):
        await numbers(worker, slow, ["3"])


async def test_an_idle_model_is_probed_and_a_hanging_one_shows() -> None:
    clock, slow = FakeClock(), SlowEncoder()
    worker = new_worker(idle_check_s=0.01, clock=clock)
    assert not worker.answered_within(60)
    slow.permits.release(1)
    await worker.watch(slow)
    assert worker.answered_within(60), "the first probe succeeded"
    await eventually(lambda: len(slow.began) == 2)  # the next probe hangs
    clock.now += 61
    assert not worker.answered_within(60)
    assert len(slow.batches) == 1
    slow.permits.release(10_000)
    await eventually(lambda: worker.answered_within(60))
    await eventually(lambda: len(slow.batches) > 2)
    await asyncio.to_thread(worker.stop)


THREADS = 3
LARGE = Limits(batch_tokens=10_000, request_tokens=10**6, queued_tokens=10**6)


@pytest.fixture
def several() -> Iterator[Worker]:
    worker = new_worker(LARGE, threads=THREADS)
    yield worker
    worker.stop()


def texts(count: int, start: int = 0) -> list[str]:
    return [str(start + i) for i in range(count)]


async def test_a_large_request_runs_on_all_threads_at_once(several: Worker) -> None:
    slow = SlowEncoder()
    count = THREADS * MIN_TOKENS
    task = asyncio.create_task(numbers(several, slow, texts(count)))
    await eventually(lambda: len(slow.began) == THREADS)
    assert slow.began == [count // THREADS] * THREADS
    slow.permits.release(THREADS)
    assert await task == [float(text) for text in texts(count)]
    assert len(slow.thread) == THREADS


async def test_a_small_request_is_one_batch(several: Worker) -> None:
    slow = SlowEncoder()
    slow.permits.release(100)
    assert await numbers(several, slow, texts(MIN_TOKENS)) == [float(text) for text in texts(MIN_TOKENS)]
    assert list(map(len, slow.batches)) == [MIN_TOKENS]


async def test_a_lost_thread_ends_all_and_answers_every_caller() -> None:
    lost = threading.Event()
    worker, slow = new_worker(LARGE, on_lost=lost.set, threads=THREADS), SlowEncoder()
    try:
        waiting = asyncio.create_task(numbers(worker, slow, ["1"]))
        await eventually(lambda: len(slow.began) == 1)
        other = SlowEncoder()
        other.permits.release(1)
        failing = asyncio.create_task(numbers(worker, other, ["lost"]))
        answers = await asyncio.gather(waiting, failing, return_exceptions=True)
        assert all(isinstance(each, NotReady) for each in answers)
        assert lost.is_set()
        with pytest.raises(NotReady):
            await numbers(worker, slow, ["2"])
    finally:
        slow.permits.release(100)
        worker.stop()


async def test_one_hanging_thread_shows_while_the_others_work() -> None:
    clock, slow, quick = FakeClock(), SlowEncoder(), SlowEncoder()
    worker = new_worker(LARGE, threads=2, clock=clock)
    quick.permits.release(10**6)
    try:
        await worker.watch(quick)
        assert worker.answered_within(60)
        hanging = asyncio.create_task(numbers(worker, slow, ["1"]))
        await eventually(lambda: len(slow.began) == 1)
        clock.now += 61
        assert await numbers(worker, quick, ["2"]) == [2.0]
        await eventually(lambda: max(worker._last_success) == clock.now)
        assert not worker.answered_within(60)
        slow.permits.release(1)
        assert await hanging == [1.0]
        await eventually(lambda: worker.answered_within(60))
    finally:
        slow.permits.release(100)
        worker.stop()
