"""A text for which several wait passes through the model once, and everybody gets what is theirs."""

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
from semblance.service.observability import timings
from semblance.service.observability.metrics import Metrics
from tests.service.batching.slow_encoder import Slow, held, numbers, queued, until

ROOMY = Limits(batch_tokens=4, request_tokens=10**6, queued_tokens=10**6)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(ROOMY, Metrics(), idle_check_s=60)
    yield worker
    worker.stop()


def ran(slow: Slow) -> Counter[str]:
    return Counter(text for batch in slow.batches for text in batch)


def test_what_waits_or_runs_already_is_not_encoded_again(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["1"]))
        await held(slow)
        calls = [["1"], ["2", "1", "2"], ["3", "2"], ["2"]]
        tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in calls]
        await queued(worker, 2)
        slow.may_go.release(100)
        assert await first == [1.0]
        assert await asyncio.gather(*tasks) == [[float(text) for text in texts] for texts in calls]
        assert ran(slow) == {"1": 1, "2": 1, "3": 1}

    asyncio.run(use())


def test_what_was_answered_is_encoded_again(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        slow.may_go.release(100)
        assert [await numbers(worker, slow, ["1"]) for _ in range(3)] == [[1.0]] * 3
        assert ran(slow) == {"1": 3}, "to remember is for the cache"

    asyncio.run(use())


@pytest.mark.parametrize("leaves", ["first", "second"])
def test_one_who_leaves_takes_nothing_from_the_other(worker: Worker, leaves: str) -> None:
    async def use() -> None:
        slow = Slow()
        running = asyncio.create_task(numbers(worker, slow, ["1"]))
        await held(slow)
        first = asyncio.create_task(numbers(worker, slow, ["2", "3"]))
        await queued(worker, 2)
        second = asyncio.create_task(numbers(worker, slow, ["3", "4", "1"]))
        await queued(worker, 3)
        leaving, staying = (first, second) if leaves == "first" else (second, first)
        leaving.cancel()
        await queued(worker, 2)  # what nobody else wants takes no room
        slow.may_go.release(100)
        assert await staying == ([3.0, 4.0, 1.0] if leaves == "first" else [2.0, 3.0])
        assert await running == [1.0]
        assert leaving.cancelled()
        assert ran(slow) == ({"1": 1, "3": 1, "4": 1} if leaves == "first" else {"1": 1, "2": 1, "3": 1})

    asyncio.run(use())


def test_who_started_a_pass_may_leave_while_it_runs(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["1"]))
        await held(slow)
        second = asyncio.create_task(numbers(worker, slow, ["1"]))
        await until(lambda: len(next(iter(worker._queue._under_way.values())).wanted_by) == 2)
        first.cancel()
        await asyncio.wait({first})
        slow.may_go.release(100)
        assert await second == [1.0]
        assert ran(slow) == {"1": 1}
        assert not worker._queue._under_way

    asyncio.run(use())


def test_who_joins_a_pass_that_runs_is_told_of_its_own_time_in_it_only(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()

        async def timed() -> tuple[float, float]:
            """What it was told of, and what it took."""
            stages, began = timings.start(), time.perf_counter()
            assert await numbers(worker, slow, ["1"]) == [1.0]
            return stages["queue"] + stages["encode"], time.perf_counter() - began

        first = asyncio.create_task(timed())
        await held(slow)
        await asyncio.sleep(0.1)
        second = asyncio.create_task(timed())
        await until(lambda: len(next(iter(worker._queue._under_way.values())).wanted_by) == 2)
        slow.may_go.release(100)
        told, took = zip(await first, await second, strict=True)
        assert ran(slow) == {"1": 1}
        assert told[0] > 0.1
        assert all(each > 0 for each in told)
        assert told[0] <= took[0]
        assert told[1] <= took[1]

    asyncio.run(use())


def test_a_text_that_fails_fails_all_who_wait_for_it_with_the_same_error(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        running = asyncio.create_task(numbers(worker, slow, ["1"]))
        await held(slow)
        tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in (["bad"], ["2", "bad"], ["2"])]
        await queued(worker, 2)
        slow.may_go.release(100)
        one, other, fine = await asyncio.gather(*tasks, return_exceptions=True)
        assert one is other
        assert str(one) == "a bad text"
        assert fine == [2.0]
        assert await running == [1.0]

    asyncio.run(use())


def test_it_takes_room_in_the_queue_once_and_is_as_urgent_as_its_most_urgent_caller() -> None:
    async def use() -> None:
        worker, slow = Worker(Limits(1, 10, 4), Metrics(), idle_check_s=60), Slow()
        running = asyncio.create_task(numbers(worker, slow, ["0"]))
        await held(slow)
        bulk = asyncio.create_task(numbers(worker, slow, ["6", "7", "8"], bulk=True))
        await queued(worker, 0, bulk=3)
        full = asyncio.create_task(numbers(worker, slow, ["1", "2", "3"]))
        await queued(worker, 3, bulk=3)
        same = [asyncio.create_task(numbers(worker, slow, ["1", "2", "3"])) for _ in range(5)]
        urgent = asyncio.create_task(numbers(worker, slow, ["8"]))
        await queued(worker, 4, bulk=2)
        with pytest.raises(Overloaded):
            await numbers(worker, slow, ["7"])  # in the background it took no room
        slow.may_go.release(100)
        assert await asyncio.gather(running, bulk, full, *same, urgent) == [
            [0.0],
            [6.0, 7.0, 8.0],
            *[[1.0, 2.0, 3.0]] * 6,
            [8.0],
        ]
        assert [text for batch in slow.batches for text in batch][-2:] == ["6", "7"]
        assert set(ran(slow).values()) == {1}
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())


@pytest.mark.parametrize("seed", range(3))
def test_among_many_who_come_leave_and_fail_everybody_gets_their_own(worker: Worker, seed: int) -> None:
    async def use() -> None:
        slow, chance, asked = Slow(), random.Random(seed), 0

        async def caller() -> None:
            nonlocal asked
            texts = [chance.choice([*"0123456789", "bad"]) for _ in range(chance.randint(1, 6))]
            asked += len(texts)
            task = asyncio.create_task(numbers(worker, slow, texts, bulk=chance.random() < 0.2))
            await asyncio.sleep(chance.random() / 50)
            slow.may_go.release(chance.randint(1, 4))
            if chance.random() < 0.3:
                task.cancel()
            [answer] = await asyncio.gather(task, return_exceptions=True)
            if isinstance(answer, ValueError):
                assert "bad" in texts
            elif not isinstance(answer, asyncio.CancelledError):
                assert answer == [float(text) for text in texts]

        callers = [asyncio.create_task(caller()) for _ in range(150)]
        await asyncio.sleep(0.1)
        slow.may_go.release(10_000)
        await asyncio.gather(*callers)
        await until(lambda: not worker._queue._under_way)
        assert worker._queue._tokens == {"interactive": 0, "bulk": 0}
        assert sum(ran(slow).values()) < asked, "some shared"

    asyncio.run(use())
