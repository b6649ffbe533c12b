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
from models.encoders.transformer import Transformer
from models.errors import BadTexts, DeviceLost
from models.text import Role, TokenizedText, Truncate
from service.batching.policy import Limits, Waiting, due, next_batch
from service.batching.worker import Worker
from service.errors import NotReady, Overloaded, TooManyTokens
from service.observability.metrics import Metrics

GROUPS = st.sampled_from("ab")
QUEUES = st.lists(st.builds(Waiting, st.integers(1, 300), GROUPS, st.floats(0, 100)), max_size=60).map(
    lambda queue: sorted(queue, key=lambda text: text.due)
)


def roomy(batch_tokens: int, window: int = 1024) -> Limits:
    """Limits that only the size of a pass can reach."""
    return Limits(batch_tokens, request_tokens=10**6, queued_tokens=10**6, window=window)


@given(waiting=QUEUES, budget=st.integers(1, 2000), window=st.integers(1, 80))
def test_a_batch_fits_its_budget_has_one_group_and_holds_the_first_due(
    waiting: list[Waiting], budget: int, window: int
) -> None:
    batch = next_batch(waiting, roomy(budget, window))
    if not waiting:
        assert batch == []
        return
    assert batch[0] == 0
    assert len(set(batch)) == len(batch)
    assert {waiting[i].group for i in batch} == {waiting[0].group}
    longest = max(waiting[i].tokens for i in batch)
    assert longest * len(batch) <= budget or batch == [0]


@given(waiting=QUEUES, budget=st.integers(1, 2000))
def test_nobody_left_out_of_a_batch_is_nearer_in_length_than_one_in_it(waiting: list[Waiting], budget: int) -> None:
    batch = next_batch(waiting, roomy(budget))
    left_out = [i for i, text in enumerate(waiting) if i not in batch and text.group == waiting[0].group]
    if len(batch) > 1 and left_out:
        furthest = max(abs(waiting[i].tokens - waiting[0].tokens) for i in batch)
        assert min(abs(waiting[i].tokens - waiting[0].tokens) for i in left_out) >= furthest


@given(waiting=QUEUES, budget=st.integers(1, 20_000))
def test_nobody_in_a_batch_is_padded_to_much_more_than_twice_its_length(waiting: list[Waiting], budget: int) -> None:
    lengths = [waiting[i].tokens for i in next_batch(waiting, roomy(budget))]
    assert max(lengths, default=0) <= 2 * min(lengths, default=0) + 16


@given(waiting=QUEUES, budget=st.integers(1, 2000))
def test_taking_batch_after_batch_serves_everyone_once(waiting: list[Waiting], budget: int) -> None:
    queue = list(enumerate(waiting))
    served: list[int] = []
    while queue:
        chosen = set(next_batch([text for _, text in queue], roomy(budget)))
        served += [number for i, (number, _) in enumerate(queue) if i in chosen]
        queue = [each for i, each in enumerate(queue) if i not in chosen]
    assert sorted(served) == list(range(len(waiting)))


@given(st.integers(1, 5000), st.integers(1, 5000), st.floats(0, 1000))
def test_of_two_that_came_together_the_smaller_runs_first_and_background_work_last(
    one: int, other: int, now: float
) -> None:
    small, large = sorted((one, other))
    assert due(now, small, bulk=False) <= due(now, large, bulk=False) < due(now, 1, bulk=True)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.booleans(), st.floats(15.1, 1000))
def test_nobody_is_passed_by_who_comes_much_later(mine: int, theirs: int, bulk: bool, later: float) -> None:
    assert due(0.0, mine, bulk=bulk) < due(later, theirs, bulk=False)
    if not bulk:
        assert due(0.0, mine, bulk=False) < due(max(later - 10, 5.1), theirs, bulk=False)


class Slow:
    """An encoder of one token a text whose vector is the text's number, and which waits until it may go on."""

    name, dim, max_tokens, space, build = "slow", 1, 8, "s", "b"

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.entered = threading.Event()
        self.may_go = threading.Semaphore(0)
        self.batches: list[list[str]] = []
        self.thread: set[str] = set()

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        del role, truncate
        zeros = np.zeros((1, 2), np.int32)
        return [TokenizedText(text, np.zeros(1, np.int32), zeros, np.zeros(1, np.int32)) for text in texts]

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        del want
        self.entered.set()
        self.may_go.acquire()
        self.thread.add(threading.current_thread().name)
        self.batches.append([text.text for text in tokenized])
        texts = {text.text for text in tokenized}
        if "bad" in texts:
            raise ValueError("a bad text")
        if "lost" in texts:
            raise DeviceLost("the device fell off the bus")
        if len(texts) > self.room:
            raise MemoryError("no room for so many")
        one = np.ones(1, np.float32)
        return [TokenEmbeddings(np.array([[float(text.text)]], np.float32), one, text) for text in tokenized]


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(roomy(4), Metrics(), idle_check_s=60)
    yield worker
    worker.stop()


async def numbers(worker: Worker, slow: Slow, texts: list[str], *, bulk: bool = False) -> list[float]:
    embeddings = await worker.encode(slow, slow.tokenize(texts, "query", "END"), "tokens", bulk=bulk)
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


def test_a_text_that_fails_its_pass_fails_its_own_caller_and_no_other(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["0"]))  # holds the model while the others gather
        await asyncio.to_thread(slow.entered.wait, 5)
        calls = [["1", "2"], ["bad"], ["3"], ["4", "bad"], ["5"]]
        tasks = [asyncio.create_task(numbers(worker, slow, texts)) for texts in calls]
        await asyncio.sleep(0.05)
        slow.may_go.release(1000)
        assert await first == [0.0]
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert max(map(len, slow.batches)) > 1, "they shared a pass"
        assert [answers[0], answers[2], answers[4]] == [[1.0, 2.0], [3.0], [5.0]]
        assert [str(answers[1]), str(answers[3])] == ["a bad text", "a bad text"]

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
        worker, slow = Worker(roomy(4), Metrics(), idle_check_s=60, on_lost=lost.set), Slow()
        tasks = [asyncio.create_task(numbers(worker, slow, ["1"]))]
        await asyncio.to_thread(slow.entered.wait, 5)
        tasks += [asyncio.create_task(numbers(worker, slow, [text])) for text in ("lost", "2")]
        tasks += [asyncio.create_task(numbers(worker, slow, [str(n) for n in range(9)]))]
        await asyncio.sleep(0.05)
        slow.may_go.release(1000)
        answers = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
        assert answers[0] == [1.0]
        assert all(isinstance(answer, NotReady) for answer in answers[1:])
        assert await asyncio.to_thread(lost.wait, 5)
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())


def test_small_requests_pass_large_ones_and_background_work_fills_the_gaps(worker: Worker) -> None:
    async def use() -> None:
        slow = Slow()
        first = asyncio.create_task(numbers(worker, slow, ["0"]))
        await asyncio.to_thread(slow.entered.wait, 5)
        bulk = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(200, 208)], bulk=True))
        large = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(1000, 1100)]))
        await asyncio.sleep(0.02)
        small = asyncio.create_task(numbers(worker, slow, ["1"]))
        await asyncio.sleep(0.02)
        slow.may_go.release(1000)
        await asyncio.gather(first, bulk, large, small)
        ran = [int(text) for batch in slow.batches for text in batch]
        assert ran[:2] == [0, 1], "the small one went before all that came earlier"
        assert ran[-8:] == list(range(200, 208)), "and background work after all"
        assert all(max(batch) < "2" or min(batch) >= "2" for batch in slow.batches[2:]), "in passes of its own"

    asyncio.run(use())


def test_what_would_wait_too_long_is_refused_at_the_door_with_a_time_to_come_back() -> None:
    async def use() -> None:
        limits = Limits(batch_tokens=4, request_tokens=10, queued_tokens=15)
        worker, slow = Worker(limits, Metrics(), idle_check_s=60), Slow()
        with pytest.raises(TooManyTokens, match="at most 10"):
            await numbers(worker, slow, [str(n) for n in range(11)])
        running = asyncio.create_task(numbers(worker, slow, ["0"]))
        await asyncio.to_thread(slow.entered.wait, 5)
        waiting = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(10)]))
        background = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(30)], bulk=True))
        await asyncio.sleep(0.05)
        with pytest.raises(Overloaded) as refused:
            await numbers(worker, slow, [str(n) for n in range(6)])
        assert refused.value.retry_after_s >= 1
        fits = asyncio.create_task(numbers(worker, slow, [str(n) for n in range(5)]))
        await asyncio.sleep(0.05)
        waiting.cancel()  # those who left take no room
        await asyncio.sleep(0.05)
        slow.may_go.release(1000)
        assert await fits == [0.0, 1.0, 2.0, 3.0, 4.0]
        assert len(await background) == 30
        assert await running == [0.0]
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())


def test_of_many_calls_at_once_no_more_are_let_in_than_may_wait() -> None:
    async def use() -> None:
        worker, slow = Worker(Limits(4, 10, 20), Metrics(), idle_check_s=60), Slow()
        running = asyncio.create_task(numbers(worker, slow, ["0"]))
        await asyncio.to_thread(slow.entered.wait, 5)
        burst = [asyncio.create_task(numbers(worker, slow, ["1", "2"])) for _ in range(50)]
        await asyncio.sleep(0.05)
        slow.may_go.release(1000)
        answers = await asyncio.gather(*burst, return_exceptions=True)
        assert sum(answer == [1.0, 2.0] for answer in answers) == 10
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


def test_long_texts_are_tokenised_a_few_at_a_time_so_that_others_need_not_wait_for_all(worker: Worker) -> None:
    calls: list[Sequence[str]] = []

    class Noting(Slow):
        def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
            calls.append(texts)
            return super().tokenize(texts, role, truncate)

    texts = [
        letter * length for letter, length in zip("abcdefgh", (30_000, 20_000, 1, 99_000, 7, 0, 50_000, 2), strict=True)
    ]
    texts += [str(i) for i in range(200)]
    asyncio.run(worker.tokenize(Noting(), texts, "query", "END"))
    assert [text for call in calls for text in call] == texts
    assert all(len(call) <= 64 and (len(call) == 1 or sum(map(len, call)) <= 50_000) for call in calls)
    assert len(calls) < 12


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
        await asyncio.to_thread(slow.entered.wait, 5)
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
        worker, slow = Worker(roomy(4), Metrics(), idle_check_s=60), Slow()
        running = asyncio.create_task(numbers(worker, slow, ["1"]))
        await asyncio.to_thread(slow.entered.wait, 5)
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
        worker, slow = Worker(roomy(4), Metrics(), idle_check_s=0.02), Slow()
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
