"""What runs together, and the thread that runs it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.embeddings import TokenEmbeddings, Want
from models.text import Role, TokenizedText, Truncate
from service.batching.policy import Limits, Waiting, next_batch
from service.batching.worker import Worker
from service.errors import NotReady
from service.observability.metrics import Metrics

QUEUES = st.lists(st.builds(Waiting, st.integers(1, 300), st.sampled_from("ab")), max_size=60)


@given(waiting=QUEUES, budget=st.integers(1, 2000), window=st.integers(1, 80))
def test_a_batch_fits_its_budget_has_one_group_and_holds_the_oldest(
    waiting: list[Waiting], budget: int, window: int
) -> None:
    batch = next_batch(waiting, Limits(budget, window))
    if not waiting:
        assert batch == []
        return
    assert batch[0] == 0
    assert len(set(batch)) == len(batch)
    assert {waiting[i].group for i in batch} == {waiting[0].group}
    longest = max(waiting[i].tokens for i in batch)
    assert longest * len(batch) <= budget or batch == [0]


@given(waiting=QUEUES, budget=st.integers(1, 2000))
def test_taking_batch_after_batch_serves_everyone_once(waiting: list[Waiting], budget: int) -> None:
    queue = list(enumerate(waiting))
    served: list[int] = []
    while queue:
        chosen = set(next_batch([text for _, text in queue], Limits(budget)))
        served += [number for i, (number, _) in enumerate(queue) if i in chosen]
        queue = [each for i, each in enumerate(queue) if i not in chosen]
    assert sorted(served) == list(range(len(waiting)))


class Slow:
    """An encoder of one token a text whose vector is the text's number, and which waits until it may go on."""

    name, dim, max_tokens, space, build = "slow", 1, 8, "s", "b"

    def __init__(self) -> None:
        self.may_go = threading.Semaphore(0)
        self.batches: list[list[str]] = []
        self.thread: set[str] = set()

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        del role, truncate
        zeros = np.zeros((1, 2), np.int32)
        return [TokenizedText(text, np.zeros(1, np.int32), zeros, np.zeros(1, np.int32)) for text in texts]

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        del want
        self.may_go.acquire()
        self.thread.add(threading.current_thread().name)
        self.batches.append([text.text for text in tokenized])
        if any(text.text == "bad" for text in tokenized):
            raise ValueError("a bad text")
        one = np.ones(1, np.float32)
        return [TokenEmbeddings(np.array([[float(text.text)]], np.float32), one, text) for text in tokenized]


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(Limits(batch_tokens=4), Metrics(), idle_check_s=60)
    yield worker
    worker.stop()


async def numbers(worker: Worker, slow: Slow, texts: list[str]) -> list[float]:
    embeddings = await worker.encode(slow, slow.tokenize(texts, "query", "END"), "tokens")
    return [float(each.vectors[0, 0]) for each in embeddings]


def test_many_callers_each_get_their_own_answers_in_order(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        slow.may_go.release(1000)
        calls = [[str(100 * call + i) for i in range(call % 7)] for call in range(40)]
        answers = await asyncio.gather(*[numbers(worker, slow, texts) for texts in calls])
        assert answers == [[float(text) for text in texts] for texts in calls]
        assert slow.thread == {"model"}, "one thread owns the model"

    asyncio.run(use())


def test_a_failed_pass_reaches_the_callers_in_it_and_no_other(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        slow.may_go.release(1000)
        with pytest.raises(ValueError, match="a bad text"):
            await numbers(worker, slow, ["bad"])
        assert await numbers(worker, slow, ["1", "2"]) == [1.0, 2.0]

    asyncio.run(use())


def test_an_encoder_that_returns_too_little_fails_its_callers_and_the_thread_lives_on(worker: Worker) -> None:
    class Short(Slow):
        def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
            return super().encode(tokenized, want)[:-1]

    async def use() -> None:
        short, slow = Short(), Slow()
        short.may_go.release(1000)
        slow.may_go.release(1000)
        with pytest.raises(ValueError, match="shorter"):
            await asyncio.wait_for(numbers(worker, short, ["1", "2"]), 5)
        assert await asyncio.wait_for(numbers(worker, slow, ["3"]), 5) == [3.0]

    asyncio.run(use())


def test_a_caller_who_left_shifts_nobodys_answer_and_its_texts_are_dropped(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["1"]))  # holds the model
        await asyncio.sleep(0.05)
        leaving = asyncio.create_task(numbers(worker, slow, ["7", "8", "9"]))
        staying = asyncio.create_task(numbers(worker, slow, ["2", "3"]))
        await asyncio.sleep(0.05)
        leaving.cancel()
        await asyncio.sleep(0.05)
        slow.may_go.release(100)
        assert await first == [1.0]
        assert await staying == [2.0, 3.0]
        assert leaving.cancelled()
        assert not {"7", "8", "9"} & {text for batch in slow.batches for text in batch}

    asyncio.run(use())


def test_nobody_is_left_waiting_when_the_worker_stops() -> None:
    async def use() -> None:
        worker, slow = Worker(Limits(4), Metrics(), idle_check_s=60), Slow()
        running = asyncio.create_task(numbers(worker, slow, ["1"]))
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(numbers(worker, slow, ["2"]))
        await asyncio.sleep(0.05)
        stopping = asyncio.create_task(asyncio.to_thread(worker.stop))
        await asyncio.sleep(0.05)
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
        worker, slow = Worker(Limits(4), Metrics(), idle_check_s=0.02), Slow()
        assert not worker.answered_within(60)
        slow.may_go.release(1)
        await worker.watch(slow)
        assert worker.answered_within(60), "it was warmed up"
        await asyncio.sleep(0.3)
        assert not worker.answered_within(0.2), "it hangs in its first try"
        slow.may_go.release(1000)
        await asyncio.sleep(0.1)
        assert worker.answered_within(0.08), "it answers again"
        assert len(slow.batches) > 2
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())
