"""A text that several requests wait for is encoded once, and every request gets its own results."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.errors import Overloaded
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.stages import start_stages
from tests.service.batching.slow_encoder import SlowEncoder, model_busy, numbers, queued, until

ROOMY = Limits(batch_tokens=4, request_tokens=10**6, queued_tokens=10**6)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(ROOMY, Metrics(), idle_check_s=60)
    yield worker
    worker.stop()


def ran(slow: SlowEncoder) -> Counter[str]:
    return Counter(text for batch in slow.batches for text in batch)


async def test_a_queued_or_running_text_is_not_encoded_again(worker: Worker) -> None:
    slow = SlowEncoder()
    first = asyncio.create_task(numbers(worker, slow, ["1"]))
    await model_busy(slow)
    calls = [["1"], ["2", "1", "2"], ["3", "2"], ["2"]]
    tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in calls]
    await queued(worker, 2)
    slow.permits.release(100)
    assert await first == [1.0]
    assert await asyncio.gather(*tasks) == [[float(text) for text in texts] for texts in calls]
    assert ran(slow) == {"1": 1, "2": 1, "3": 1}


async def test_an_answered_text_is_encoded_again(worker: Worker) -> None:
    slow = SlowEncoder()
    slow.permits.release(100)
    assert [await numbers(worker, slow, ["1"]) for _ in range(3)] == [[1.0]] * 3
    assert ran(slow) == {"1": 3}, "remembering is the task of the cache"


@pytest.mark.parametrize("leaves", ["first", "second"])
async def test_a_cancelled_request_takes_nothing_from_another(worker: Worker, leaves: str) -> None:
    slow = SlowEncoder()
    running = asyncio.create_task(numbers(worker, slow, ["1"]))
    await model_busy(slow)
    first = asyncio.create_task(numbers(worker, slow, ["2", "3"]))
    await queued(worker, 2)
    second = asyncio.create_task(numbers(worker, slow, ["3", "4", "1"]))
    await queued(worker, 3)
    leaving, staying = (first, second) if leaves == "first" else (second, first)
    leaving.cancel()
    await queued(worker, 2)  # a text that only the cancelled request needed takes no room
    slow.permits.release(100)
    assert await staying == ([3.0, 4.0, 1.0] if leaves == "first" else [2.0, 3.0])
    assert await running == [1.0]
    assert leaving.cancelled()
    assert ran(slow) == ({"1": 1, "3": 1, "4": 1} if leaves == "first" else {"1": 1, "2": 1, "3": 1})


async def test_the_request_that_started_a_batch_may_be_cancelled(worker: Worker) -> None:
    slow = SlowEncoder()
    first = asyncio.create_task(numbers(worker, slow, ["1"]))
    await model_busy(slow)
    second = asyncio.create_task(numbers(worker, slow, ["1"]))
    await until(lambda: len(next(iter(worker._queue._in_flight.values())).positions) == 2)
    first.cancel()
    await asyncio.wait({first})
    slow.permits.release(100)
    assert await second == [1.0]
    assert ran(slow) == {"1": 1}
    assert not worker._queue._in_flight


async def test_a_request_joining_a_batch_records_only_its_time(worker: Worker) -> None:
    slow = SlowEncoder()

    async def timed() -> tuple[float, float]:
        """Recorded and measured seconds."""
        stages, began = start_stages().seconds, time.perf_counter()
        assert await numbers(worker, slow, ["1"]) == [1.0]
        return stages["queue"] + stages["encode"], time.perf_counter() - began

    first = asyncio.create_task(timed())
    await model_busy(slow)
    await asyncio.sleep(0.1)
    second = asyncio.create_task(timed())
    await until(lambda: len(next(iter(worker._queue._in_flight.values())).positions) == 2)
    slow.permits.release(100)
    told, took = zip(await first, await second, strict=True)
    assert ran(slow) == {"1": 1}
    assert told[0] > 0.1
    assert all(each > 0 for each in told)
    assert told[0] <= took[0]
    assert told[1] <= took[1]


async def test_a_failing_text_fails_all_its_requests_alike(worker: Worker) -> None:
    slow = SlowEncoder()
    running = asyncio.create_task(numbers(worker, slow, ["1"]))
    await model_busy(slow)
    tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in (["bad"], ["2", "bad"], ["2"])]
    await queued(worker, 2)
    slow.permits.release(100)
    one, other, fine = await asyncio.gather(*tasks, return_exceptions=True)
    assert one is other
    assert str(one) == "a bad text"
    assert fine == [2.0]
    assert await running == [1.0]


async def test_a_shared_text_is_queued_once_at_its_highest_urgency() -> None:
    worker, slow = Worker(Limits(1, 10, 4), Metrics(), idle_check_s=60), SlowEncoder()
    running = asyncio.create_task(numbers(worker, slow, ["0"]))
    await model_busy(slow)
    bulk = asyncio.create_task(numbers(worker, slow, ["6", "7", "8"], bulk=True))
    await queued(worker, 0, bulk=3)
    full = asyncio.create_task(numbers(worker, slow, ["1", "2", "3"]))
    await queued(worker, 3, bulk=3)
    same = [asyncio.create_task(numbers(worker, slow, ["1", "2", "3"])) for _ in range(5)]
    urgent = asyncio.create_task(numbers(worker, slow, ["8"]))
    await queued(worker, 4, bulk=2)
    with pytest.raises(Overloaded):
        await numbers(worker, slow, ["7"])  # in the background it took no room
    slow.permits.release(100)
    assert await asyncio.gather(running, bulk, full, *same, urgent) == [
        [0.0],
        [6.0, 7.0, 8.0],
        *[[1.0, 2.0, 3.0]] * 6,
        [8.0],
    ]
    assert [text for batch in slow.batches for text in batch][-2:] == ["6", "7"]
    assert set(ran(slow).values()) == {1}
    await asyncio.to_thread(worker.stop)


async def test_a_shared_text_runs_for_the_caller_who_waits_less(worker: Worker) -> None:
    slow = SlowEncoder()
    running = asyncio.create_task(numbers(worker, slow, ["0"]))
    await model_busy(slow)
    flood = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(10, 50)], caller="flood"))
    await queued(worker, 40)
    await asyncio.sleep(0.1)  # until the flood's text is due earlier
    small = asyncio.create_task(numbers(worker, slow, ["49"], caller="small"))
    await until(lambda: worker._queue._turns.interactive_tokens.get("small", 0) == 1)
    again = asyncio.create_task(numbers(worker, slow, ["49"], caller="flood"))
    await asyncio.sleep(0.05)
    assert worker._queue._turns.interactive_tokens.get("small", 0) == 1, "a longer wait takes no text back"
    slow.permits.release(1000)
    assert [await small, await again] == [[49.0], [49.0]]
    assert "49" in slow.batches[1] + slow.batches[2]
    await asyncio.gather(running, flood)
    assert set(ran(slow).values()) == {1}


@pytest.mark.parametrize("seed", range(3))
async def test_concurrent_requests_get_their_own_results_despite_failures(worker: Worker, seed: int) -> None:
    slow, chance, asked = SlowEncoder(), random.Random(seed), 0

    async def caller() -> None:
        nonlocal asked
        texts = [chance.choice([*"0123456789", "bad"]) for _ in range(chance.randint(1, 6))]
        asked += len(texts)
        task = asyncio.create_task(numbers(worker, slow, texts, bulk=chance.random() < 0.2))
        await asyncio.sleep(chance.random() / 50)
        slow.permits.release(chance.randint(1, 4))
        if chance.random() < 0.3:
            task.cancel()
        [answer] = await asyncio.gather(task, return_exceptions=True)
        if isinstance(answer, ValueError):
            assert "bad" in texts
        elif not isinstance(answer, asyncio.CancelledError):
            assert answer == [float(text) for text in texts]

    callers = [asyncio.create_task(caller()) for _ in range(150)]
    await asyncio.sleep(0.1)
    slow.permits.release(10_000)
    await asyncio.gather(*callers)
    await until(lambda: not worker._queue._in_flight)
    assert worker._queue._turns.tokens == {"interactive": 0, "bulk": 0}
    assert sum(ran(slow).values()) < asked, "some shared"
