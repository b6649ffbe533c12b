"""Small work is done in the event loop, which is never held up: what takes long goes to a thread."""

from __future__ import annotations

import asyncio
import threading
import time

from semblance.service.offload import TURN_S, Aside

LONG_S = 20 * TURN_S


def thread() -> int:
    return threading.get_ident()


def busy(seconds: float) -> int:
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass
    return thread()


def test_what_is_known_to_be_quick_is_done_at_once_and_all_else_in_a_thread() -> None:
    async def use() -> None:
        aside, here = Aside(), thread()
        assert await aside.do("quick", 1, thread) != here, "nothing is known of it yet"
        assert await aside.do("quick", 1, thread) == here
        assert await aside.do("quick", 10**9, thread) != here, "there is very much of it"
        assert await aside.do("other", 1, thread) != here, "nothing is known of the other kind"
        assert await aside.do("slow", 1, lambda: busy(LONG_S)) != here
        assert await aside.do("slow", 1, lambda: busy(LONG_S)) != here

    asyncio.run(use())


def test_a_kind_that_grew_slow_holds_up_the_loop_once_and_may_become_quick_again() -> None:
    async def use() -> None:
        aside, here = Aside(), thread()
        await aside.do("kind", 1, thread)
        assert await aside.do("kind", 1, lambda: busy(LONG_S)) == here
        assert await aside.do("kind", 1, lambda: busy(LONG_S)) != here
        where = [await aside.do("kind", 1, thread) for _ in range(30)]
        assert where[0] != here
        assert where[-1] == here

    asyncio.run(use())


def test_size_is_what_the_time_is_taken_to_grow_with() -> None:
    async def use() -> None:
        aside, here = Aside(), thread()
        await aside.do("kind", 100, lambda: busy(2 * TURN_S))
        assert await aside.do("kind", 90, thread) != here
        await aside.do("kind", 100, lambda: busy(2 * TURN_S))
        assert await aside.do("kind", 10, thread) == here

    asyncio.run(use())


def test_an_error_reaches_the_caller_from_either_place() -> None:
    def fails() -> int:
        raise ValueError("it cannot be done")

    async def use() -> list[str]:
        aside, said = Aside(), []
        for known in (False, True):
            if known:
                await aside.do("kind", 1, thread)
            try:
                await aside.do("kind", 1, fails)
            except ValueError as error:
                said.append(str(error))
        return said

    assert asyncio.run(use()) == ["it cannot be done"] * 2
