"""Work in threads is done in turns of the callers."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import pytest

from semblance.service.callers import set_caller
from semblance.service.errors import NotReady, Overloaded
from semblance.service.threads import until_left
from semblance.service.turns import MAX_WAITING, ByCaller, TurnThreads
from tests.support.waiting import eventually


@pytest.fixture
def threads() -> Iterator[TurnThreads]:
    opened = TurnThreads(3, "turns")
    yield opened
    opened.close()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def as_caller(name: str, act: Callable[[], Awaitable[object]]) -> object:
    set_caller(name)
    return await act()


def begin(threads: TurnThreads, caller: str, act: Callable[[], object]) -> asyncio.Task[object]:
    return asyncio.create_task(as_caller(caller, lambda: threads.run(act)))


def test_callers_take_turns_in_the_order_of_their_items() -> None:
    waiting = ByCaller[str]()
    for caller, item in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3"), ("b", "b2")]:
        waiting.add(caller, item)
    waiting.keep(lambda item: item != "b2")
    assert waiting.counts == {"a": 3, "b": 1}
    assert waiting.take(lambda caller: caller == "b") == ("b", "b1")
    assert [waiting.take() for _ in range(4)] == [("a", "a1"), ("a", "a2"), ("a", "a3"), None]
    assert not waiting


async def test_a_flood_leaves_a_thread_to_others(threads: TurnThreads, gate: threading.Event) -> None:
    flood = [begin(threads, "flood", gate.wait) for _ in range(20)]
    await eventually(lambda: threads._running == {"flood": 2})
    others = [begin(threads, name, partial(str, name)) for name in ("a", "b", "c")]
    assert await asyncio.gather(*others) == ["a", "b", "c"]
    assert not any(each.done() for each in flood)
    gate.set()
    assert await asyncio.gather(*flood) == [True] * 20


async def test_work_is_dropped_when_its_caller_leaves(threads: TurnThreads, gate: threading.Event) -> None:
    done: list[int] = []
    running = [begin(threads, "flood", gate.wait) for _ in range(2)]
    waiting = [begin(threads, "flood", lambda number=number: done.append(number)) for number in range(6)]  # type: ignore[misc]
    await begin(threads, "other", lambda: None)
    for each in waiting[:5]:
        each.cancel()
    gate.set()
    await asyncio.gather(*running, waiting[5])
    assert done == [5]


async def test_callers_beyond_their_share_are_refused(threads: TurnThreads, gate: threading.Event) -> None:
    running = [begin(threads, "flood", gate.wait) for _ in range(2)]
    await eventually(lambda: threads._running == {"flood": 2})
    flood = [begin(threads, "flood", gate.wait) for _ in range(MAX_WAITING)]
    await begin(threads, "other", lambda: None)
    with pytest.raises(Overloaded):
        await begin(threads, "flood", lambda: None)
    small = begin(threads, "small", lambda: "served")
    assert await small == "served"
    flood[-1].cancel()
    replaced = begin(threads, "flood", lambda: "in place of what was cancelled")
    await begin(threads, "other", lambda: None)
    gate.set()
    assert await replaced == "in place of what was cancelled"
    await asyncio.gather(*running, *flood, return_exceptions=True)


async def test_begun_work_ends_soon_after_its_caller_left(threads: TurnThreads, gate: threading.Event) -> None:
    begun, parts = threading.Event(), list[int]()

    def work() -> None:
        for part in until_left(range(3)):
            parts.append(part)
            begun.set()
            gate.wait()

    task = begin(threads, "left", work)
    await eventually(begun.is_set)
    task.cancel()
    await asyncio.wait([task])
    gate.set()
    await asyncio.gather(*(begin(threads, name, lambda: None) for name in ("left", "a", "b")))
    await asyncio.to_thread(threads.close)
    assert parts == [0]


async def test_idle_threads_keep_nothing_of_their_work(threads: TurnThreads) -> None:
    class Index:
        pass

    index = Index()
    kept = weakref.ref(index)
    assert await threads.run(lambda held: held is not None, index)
    del index
    await eventually(lambda: kept() is None)


async def test_errors_reach_the_caller_and_spare_the_thread(threads: TurnThreads) -> None:
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 / 0)
    assert await threads.run(divmod, 7, 2) == (3, 1)


async def test_closing_ends_what_runs_and_refuses_what_waits(gate: threading.Event) -> None:
    threads = TurnThreads(2, "turns")
    begun = threading.Event()

    def wait() -> bool:
        begun.set()
        return gate.wait()

    running = begin(threads, "a", wait)
    await eventually(begun.is_set)
    waiting = begin(threads, "a", lambda: None)
    await begin(threads, "b", lambda: None)
    closed = asyncio.create_task(asyncio.to_thread(threads.close))
    await eventually(lambda: threads._closing)
    with pytest.raises(NotReady):
        await threads.run(lambda: None)
    gate.set()
    assert await running
    with pytest.raises(NotReady):
        await waiting
    await closed
