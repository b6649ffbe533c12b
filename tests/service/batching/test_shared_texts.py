"""A text that several requests wait for is encoded once, and every request gets its own results."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from semblance.models.errors import ModelFailed
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.errors import Overloaded
from semblance.service.observability.stages import Stage, start_stages
from tests.service.batching.slow_encoder import ROOMY, SlowEncoder, busy, new_worker, numbers, queued
from tests.support.fake_clock import FakeClock
from tests.support.waiting import eventually


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def worker(clock: FakeClock) -> Iterator[Worker]:
    worker = new_worker(clock=clock)
    yield worker
    worker.stop()


def positions(worker: Worker, text: str) -> int:
    """Number of places in requests where a text waits or runs."""
    return sum(len(each.positions) for each in worker._queue._in_flight.values() if each.text.text == text)


def ran(slow: SlowEncoder) -> Counter[str]:
    return Counter(text for batch in slow.batches for text in batch)


async def test_a_queued_or_running_text_is_not_encoded_again(worker: Worker) -> None:
    slow = SlowEncoder()
    first = await busy(worker, slow, "1")
    calls = [["1"], ["2", "1", "2"], ["3", "2"], ["2"]]
    tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in calls]
    await queued(worker, 2)
    slow.permits.release(100)
    assert await first == [1.0]
    assert await asyncio.gather(*tasks) == [[float(text) for text in texts] for texts in calls]
    assert ran(slow) == {"1": 1, "2": 1, "3": 1}


class EqualEncoder(SlowEncoder):
    """Equal to each of its kind, as the queries of a reranker are."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EqualEncoder)

    def __hash__(self) -> int:
        return 0


async def test_texts_of_equal_encoders_share_a_batch(worker: Worker) -> None:
    slow, first, second = SlowEncoder(), EqualEncoder(), EqualEncoder()
    running = await busy(worker, slow, "1")
    tasks = [asyncio.create_task(numbers(worker, each, [text])) for each, text in ((first, "2"), (second, "3"))]
    await queued(worker, 2)
    for each in (slow, first, second):
        each.permits.release(100)
    assert await asyncio.gather(running, *tasks) == [[1.0], [2.0], [3.0]]
    assert [sorted(batch) for batch in first.batches + second.batches] == [["2", "3"]]


async def test_an_answered_text_is_encoded_again(worker: Worker) -> None:
    slow = SlowEncoder()
    slow.permits.release(100)
    assert [await numbers(worker, slow, ["1"]) for _ in range(3)] == [[1.0]] * 3
    assert ran(slow) == {"1": 3}, "remembering is the task of the cache"


@pytest.mark.parametrize("leaves", ["first", "second"])
async def test_a_cancelled_request_takes_nothing_from_another(worker: Worker, leaves: str) -> None:
    slow = SlowEncoder()
    running = await busy(worker, slow, "1")
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
    first = await busy(worker, slow, "1")
    second = asyncio.create_task(numbers(worker, slow, ["1"]))
    await eventually(lambda: positions(worker, "1") == 2)
    first.cancel()
    await asyncio.wait({first})
    slow.permits.release(100)
    assert await second == [1.0]
    assert ran(slow) == {"1": 1}
    assert not worker._queue._in_flight


async def test_a_request_joining_a_batch_records_only_its_time(worker: Worker, clock: FakeClock) -> None:
    slow, clock.now = SlowEncoder(), 1.0

    async def stages_of(text: str) -> dict[Stage, float]:
        stages = start_stages().seconds
        await numbers(worker, slow, [text])
        return stages

    first = asyncio.create_task(stages_of("1"))
    await eventually(slow.entered.is_set)
    clock.now = 3.0
    second, waiting = asyncio.create_task(stages_of("1")), asyncio.create_task(stages_of("2"))
    await eventually(lambda: positions(worker, "1") == 2)
    await queued(worker, 1)
    clock.now = 7.0
    slow.permits.release(100)
    assert await first == {"queue": 0.0, "encode": 6.0}
    assert await second == {"queue": 0.0, "encode": 4.0}
    assert await waiting == {"queue": 4.0, "encode": 0.0}
    assert ran(slow) == {"1": 1, "2": 1}


async def test_a_shared_text_is_queued_once_at_its_highest_urgency() -> None:
    worker, slow = new_worker(Limits(1, 10, 4)), SlowEncoder()
    running = await busy(worker, slow)
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


async def test_a_shared_text_runs_for_the_caller_who_waits_less(worker: Worker, clock: FakeClock) -> None:
    slow = SlowEncoder()
    running = await busy(worker, slow)
    flood = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(10, 50)], caller="flood"))
    await queued(worker, 40)
    clock.now += 0.1  # the flood's text is due earlier
    small = asyncio.create_task(numbers(worker, slow, ["49"], caller="small"))
    await eventually(lambda: worker._queue._turns.interactive_tokens.get("small", 0) == 1)
    again = asyncio.create_task(numbers(worker, slow, ["49"], caller="flood"))
    await eventually(lambda: positions(worker, "49") == 3)
    assert worker._queue._turns.interactive_tokens.get("small", 0) == 1, "a longer wait takes no text back"
    slow.permits.release(1000)
    assert [await small, await again] == [[49.0], [49.0]]
    assert "49" in slow.batches[1] + slow.batches[2]
    await asyncio.gather(running, flood)
    assert set(ran(slow).values()) == {1}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("threads", "batch_tokens", "distinct", "most"), [(1, 4, 10, 6), (3, 10_000, 300, 200)])
async def test_concurrent_requests_get_their_own_results_despite_failures(
    seed: int, threads: int, batch_tokens: int, distinct: int, most: int
) -> None:
    worker = new_worker(replace(ROOMY, batch_tokens=batch_tokens), threads=threads)
    slow, chance, asked, released = SlowEncoder(), random.Random(seed), 0, 0

    async def caller() -> None:
        nonlocal asked, released
        texts = [str(chance.randrange(distinct)) for _ in range(chance.randint(1, most))]
        if chance.random() < 0.2:
            texts[chance.randrange(len(texts))] = chance.choice(["bad", "nan"])
        asked += len(texts)
        task = asyncio.create_task(numbers(worker, slow, texts, bulk=chance.random() < 0.2))
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)  # lets others run in between
        slow.permits.release(chance.randint(1, 4))
        released += 1
        if chance.random() < 0.3:
            task.cancel()
        [answer] = await asyncio.gather(task, return_exceptions=True)
        if isinstance(answer, ModelFailed):
            assert {texts[each.index] for each in answer.problems} == {"bad", "nan"} & {*texts}
        elif not isinstance(answer, asyncio.CancelledError):
            assert answer == [float(text) for text in texts]

    callers = [asyncio.create_task(caller()) for _ in range(100)]
    await eventually(lambda: released == len(callers))
    slow.permits.release(10_000)
    await asyncio.gather(*callers)
    await eventually(lambda: not worker._queue._in_flight)
    assert worker._queue._turns.tokens == {"interactive": 0, "bulk": 0}
    assert sum(ran(slow).values()) < asked, "some shared"
    worker.stop()
