"""The thread that tokenises: everybody gets their own tokens, or a reason, and the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from semblance.models.errors import BadTexts, TextProblem
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.batching.tokenizer import Tokeniser
from semblance.service.errors import NotReady
from tests.service.batching.slow_encoder import WAIT_S, Panic, Slow, until


class Held(Slow):
    """Tokenises once it may, refuses a bad text, and remembers where."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.threads: set[str] = set()

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        self.entered.set()
        assert self.may_go.acquire(timeout=WAIT_S)
        self.seen += texts
        self.threads.add(threading.current_thread().name)
        if "bad" in texts:
            raise BadTexts([TextProblem(texts.index("bad"), "empty_text", "it is bad")])
        if "panic" in texts:
            raise Panic("hunter2")
        return super().tokenize(texts, role, truncate)


async def tokens(tokeniser: Tokeniser, held: Held, *texts: str) -> list[str]:
    return [each.text for each in await tokeniser.tokenize(held, texts, "query", "END")]


def test_everybody_gets_their_own_in_the_order_in_which_they_came_and_the_loop_goes_on() -> None:
    async def use() -> None:
        tokeniser, held = Tokeniser(), Held()
        calls = [[f"{n}", f"{n} again"] for n in range(30)]
        tasks = [asyncio.create_task(tokens(tokeniser, held, *texts)) for texts in calls]
        await until(held.entered.is_set)  # while one is tokenised, this goes on
        held.may_go.release(30)
        assert await asyncio.gather(*tasks) == calls
        assert held.seen == [text for texts in calls for text in texts]
        assert held.threads == {"tokeniser"}
        tokeniser.stop()

    asyncio.run(use())


def test_a_bad_text_fails_its_own_caller_only_and_of_one_who_left_nothing_is_done() -> None:
    async def use() -> None:
        tokeniser, held = Tokeniser(), Held()
        first, bad, leaving, last = [
            asyncio.create_task(tokens(tokeniser, held, *texts)) for texts in (["1"], ["2", "bad"], ["3"], ["4"])
        ]
        await until(held.entered.is_set)
        leaving.cancel()
        await asyncio.wait({leaving})
        held.may_go.release(10)
        assert (await first, await last) == (["1"], ["4"])
        with pytest.raises(BadTexts, match="text 1: it is bad"):
            await bad
        assert held.seen == ["1", "2", "bad", "4"]
        tokeniser.stop()

    asyncio.run(use())


def test_a_panic_of_the_library_fails_its_own_caller_by_what_is_an_exception_and_the_thread_lives_on() -> None:
    async def use() -> None:
        tokeniser, held = Tokeniser(), Held()
        panicking, same_go = [asyncio.create_task(tokens(tokeniser, held, text)) for text in ("panic", "1")]
        await until(held.entered.is_set)
        held.may_go.release(10)
        with pytest.raises(RuntimeError, match="a library panicked") as failed:
            await asyncio.wait_for(panicking, WAIT_S)
        assert isinstance(failed.value.__cause__, Panic)
        assert await asyncio.wait_for(same_go, WAIT_S) == ["1"]
        assert await asyncio.wait_for(tokens(tokeniser, held, "2"), WAIT_S) == ["2"]
        tokeniser.stop()

    asyncio.run(use())


def test_when_it_stops_nobody_is_left_waiting() -> None:
    async def use() -> None:
        tokeniser, held = Tokeniser(), Held()
        running, waiting = [asyncio.create_task(tokens(tokeniser, held, text)) for text in ("1", "2")]
        await until(held.entered.is_set)
        tokeniser.stop()
        held.may_go.release(10)
        assert await running == ["1"]
        for late in (waiting, tokens(tokeniser, held, "3")):
            with pytest.raises(NotReady):
                await late
        assert held.seen == ["1"]

    asyncio.run(use())
