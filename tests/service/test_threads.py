"""Short work runs in the event loop, long work in a thread."""

from __future__ import annotations

import threading
import time

from semblance.service.threads import INLINE_S, Offload

LONG_S = 20 * INLINE_S


def thread() -> int:
    return threading.get_ident()


def busy(seconds: float) -> int:
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass
    return thread()


async def test_only_work_known_to_be_short_runs_inline() -> None:
    offload, loop_thread = Offload(), thread()
    assert await offload.run("quick", 1, thread) != loop_thread, "its duration is unknown"
    assert await offload.run("quick", 1, thread) == loop_thread
    assert await offload.run("quick", 10**9, thread) != loop_thread, "it is large"
    assert await offload.run("other", 1, thread) != loop_thread, "another kind is unknown"
    assert await offload.run("slow", 1, lambda: busy(LONG_S)) != loop_thread
    assert await offload.run("slow", 1, lambda: busy(LONG_S)) != loop_thread


async def test_slowing_work_blocks_the_loop_once_and_may_recover() -> None:
    offload, loop_thread = Offload(), thread()
    await offload.run("kind", 1, thread)
    assert await offload.run("kind", 1, lambda: busy(LONG_S)) == loop_thread
    assert await offload.run("kind", 1, lambda: busy(LONG_S)) != loop_thread
    threads = [await offload.run("kind", 1, thread) for _ in range(30)]
    assert threads[0] != loop_thread
    assert threads[-1] == loop_thread


async def test_expected_time_grows_with_size() -> None:
    offload, loop_thread = Offload(), thread()
    await offload.run("kind", 100, lambda: busy(2 * INLINE_S))
    assert await offload.run("kind", 90, thread) != loop_thread
    await offload.run("kind", 100, lambda: busy(2 * INLINE_S))
    assert await offload.run("kind", 10, thread) == loop_thread


async def test_errors_reach_the_caller_from_loop_and_thread() -> None:
    def fails() -> int:
        raise ValueError("impossible")

    offload, messages = Offload(), []
    for inline in (False, True):
        if inline:
            await offload.run("kind", 1, thread)
        try:
            await offload.run("kind", 1, fails)
        except ValueError as error:
            messages.append(str(error))
    assert messages == ["impossible"] * 2
