"""Short work runs in the event loop, long work in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from semblance.service.turns import INLINE_S, Offload
from tests.support.fake_clock import FakeClock

LONG_S = 20 * INLINE_S


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def offload(clock: FakeClock) -> Offload:
    return Offload(clock, clock)


@pytest.fixture
def busy(clock: FakeClock) -> Callable[[float], int]:
    """Work of some seconds, which returns the thread that it ran in."""

    def work(seconds: float) -> int:
        clock.now += seconds
        return thread()

    return work


def thread() -> int:
    return threading.get_ident()


async def test_only_work_known_to_be_short_runs_inline(offload: Offload, busy: Callable[[float], int]) -> None:
    loop_thread = thread()
    assert await offload.run("quick", 1, thread) != loop_thread, "its duration is unknown"
    assert await offload.run("quick", 1, lambda: busy(INLINE_S / 2)) == loop_thread
    assert await offload.run("quick", 10**9, thread) != loop_thread, "it is large"
    assert await offload.run("other", 1, thread) != loop_thread, "another kind is unknown"
    assert await offload.run("slow", 1, lambda: busy(LONG_S)) != loop_thread
    assert await offload.run("slow", 1, lambda: busy(LONG_S)) != loop_thread


async def test_slowing_work_blocks_the_loop_once_and_may_recover(
    offload: Offload, busy: Callable[[float], int]
) -> None:
    loop_thread = thread()
    await offload.run("kind", 1, thread)
    assert await offload.run("kind", 1, lambda: busy(LONG_S)) == loop_thread
    assert await offload.run("kind", 1, lambda: busy(LONG_S)) != loop_thread
    threads = [await offload.run("kind", 1, thread) for _ in range(30)]
    assert loop_thread not in threads[:3], "a quick run lowers the estimate by half"
    assert threads[-1] == loop_thread


async def test_expected_time_grows_with_size(offload: Offload, busy: Callable[[float], int]) -> None:
    loop_thread = thread()
    await offload.run("kind", 100, lambda: busy(2 * INLINE_S))
    assert await offload.run("kind", 90, thread) != loop_thread
    await offload.run("kind", 100, lambda: busy(2 * INLINE_S))
    assert await offload.run("kind", 10, thread) == loop_thread


async def test_errors_reach_the_caller_from_loop_and_thread(offload: Offload) -> None:
    def fails() -> int:
        raise ValueError("impossible")

    for _ in ("thread", "loop"):
        with pytest.raises(ValueError, match="impossible"):
            await offload.run("kind", 1, fails)
        await offload.run("kind", 1, thread)
