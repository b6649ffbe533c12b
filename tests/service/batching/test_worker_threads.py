"""Several threads of a worker: batches run at the same time, and every caller gets its own result or an error."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from semblance.service.batching.policy import Limits
from semblance.service.batching.turns import LEAST_TOKENS
from semblance.service.batching.worker import Worker
from semblance.service.errors import NotReady
from tests.service.batching.slow_encoder import SlowEncoder, new_worker, numbers
from tests.support.fake_clock import FakeClock
from tests.support.waiting import eventually

THREADS = 3
LARGE = Limits(batch_tokens=10_000, request_tokens=10**6, queued_tokens=10**6)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = new_worker(LARGE, threads=THREADS)
    yield worker
    worker.stop()


def texts(count: int, start: int = 0) -> list[str]:
    return [str(start + i) for i in range(count)]


async def test_a_large_request_runs_on_all_threads_at_once(worker: Worker) -> None:
    slow = SlowEncoder()
    count = THREADS * LEAST_TOKENS
    task = asyncio.create_task(numbers(worker, slow, texts(count)))
    await eventually(lambda: len(slow.began) == THREADS)
    assert slow.began == [count // THREADS] * THREADS
    slow.permits.release(THREADS)
    assert await task == [float(text) for text in texts(count)]
    assert len(slow.thread) == THREADS


async def test_a_small_request_is_one_batch(worker: Worker) -> None:
    slow = SlowEncoder()
    slow.permits.release(100)
    assert await numbers(worker, slow, texts(LEAST_TOKENS)) == [float(text) for text in texts(LEAST_TOKENS)]
    assert list(map(len, slow.batches)) == [LEAST_TOKENS]


async def test_a_waiting_request_does_not_wait_for_the_slowest_batch(worker: Worker) -> None:
    """One thread hangs; all others go on."""
    hanging, slow = SlowEncoder(), SlowEncoder()
    first = asyncio.create_task(numbers(worker, hanging, ["1"]))
    await eventually(lambda: len(hanging.began) == 1)
    slow.permits.release(100)
    for i in range(20):
        assert await numbers(worker, slow, texts(3, i)) == [float(i + j) for j in range(3)]
    assert not first.done()
    hanging.permits.release(1)
    assert await first == [1.0]


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
