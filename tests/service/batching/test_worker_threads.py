"""Several threads of a worker: batches run at the same time, and every caller gets its own result or an error."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator

import pytest

from semblance.service.batching.policy import Limits
from semblance.service.batching.turns import LEAST_TOKENS
from semblance.service.batching.worker import Worker
from semblance.service.errors import NotReady
from semblance.service.observability.metrics import Metrics
from tests.service.batching.slow_encoder import WAIT_S, SlowEncoder, numbers, until

THREADS = 3
ROOMY = Limits(batch_tokens=10_000, request_tokens=10**6, queued_tokens=10**6)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(ROOMY, Metrics(), idle_check_s=60, threads=THREADS)
    yield worker
    worker.stop()


def texts(count: int, start: int = 0) -> list[str]:
    return [str(start + i) for i in range(count)]


async def test_a_large_request_runs_on_all_threads_at_once(worker: Worker) -> None:
    slow = SlowEncoder()
    count = THREADS * LEAST_TOKENS
    task = asyncio.create_task(numbers(worker, slow, texts(count)))
    await until(lambda: len(slow.began) == THREADS)
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
    await until(lambda: len(hanging.began) == 1)
    slow.permits.release(100)
    for i in range(20):
        assert await asyncio.wait_for(numbers(worker, slow, texts(3, i)), WAIT_S) == [float(i + j) for j in range(3)]
    assert not first.done()
    hanging.permits.release(1)
    assert await first == [1.0]


@pytest.mark.parametrize("seed", range(3))
async def test_every_caller_gets_its_own_results_despite_failures(worker: Worker, seed: int) -> None:
    rng, slow = random.Random(seed), SlowEncoder()
    slow.permits.release(10**6)
    calls = [texts(rng.randint(1, 200), rng.randint(0, 300)) for _ in range(60)]
    for call in rng.sample(calls, 10):
        call[rng.randrange(len(call))] = "bad"
    tasks = [asyncio.create_task(numbers(worker, slow, call)) for call in calls]
    for task in rng.sample(tasks, 5):
        task.cancel()
    answers = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), WAIT_S)
    for call, answer in zip(calls, answers, strict=True):
        if isinstance(answer, asyncio.CancelledError):
            continue
        if "bad" in call:
            assert str(answer) == "a bad text"
        else:
            assert answer == [float(text) for text in call]


async def test_a_lost_thread_ends_all_and_answers_every_caller() -> None:
    lost = threading.Event()
    worker, slow = Worker(ROOMY, Metrics(), idle_check_s=60, on_lost=lost.set, threads=THREADS), SlowEncoder()
    try:
        waiting = asyncio.create_task(numbers(worker, slow, ["1"]))
        await until(lambda: len(slow.began) == 1)
        other = SlowEncoder()
        other.permits.release(1)
        failing = asyncio.create_task(numbers(worker, other, ["lost"]))
        answers = await asyncio.wait_for(asyncio.gather(waiting, failing, return_exceptions=True), WAIT_S)
        assert all(isinstance(each, NotReady) for each in answers)
        assert lost.is_set()
        with pytest.raises(NotReady):
            await numbers(worker, slow, ["2"])
    finally:
        slow.permits.release(100)
        worker.stop()


async def test_one_hanging_thread_shows_while_the_others_work() -> None:
    worker, slow, quick = Worker(ROOMY, Metrics(), idle_check_s=0.02, threads=2), SlowEncoder(), SlowEncoder()
    quick.permits.release(10**6)
    try:
        await worker.watch(quick)
        assert worker.answered_within(60)
        await until(lambda: worker.answered_within(0.2))
        hanging = asyncio.create_task(numbers(worker, slow, ["1"]))
        await until(lambda: len(slow.began) == 1)
        ends = time.monotonic() + WAIT_S
        while worker.answered_within(0.2) and time.monotonic() < ends:
            await numbers(worker, quick, ["2"])
        assert not worker.answered_within(0.2)
        slow.permits.release(1)
        assert await hanging == [1.0]
        await until(lambda: worker.answered_within(0.2))
    finally:
        slow.permits.release(100)
        worker.stop()
