"""The tokenizer thread: callers get their own tokens or an error, without blocking the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from semblance.models.errors import BadTexts, TextProblem
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.batching.tokenizer import ROUND_CHARS, TokenizerThread
from semblance.service.callers import set_caller
from semblance.service.errors import NotReady
from tests.service.batching.slow_encoder import Panic, SlowEncoder
from tests.support.waiting import CEILING_S, eventually


class BlockingTokenizer(SlowEncoder):
    """Needs a permit for each call, refuses a bad text, and records texts and threads."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.threads: set[str] = set()

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        self.entered.set()
        assert self.permits.acquire(timeout=CEILING_S)
        self.seen += texts
        self.threads.add(threading.current_thread().name)
        if "bad" in texts:
            raise BadTexts([TextProblem(texts.index("bad"), "empty_text", "it is bad")])
        if "panic" in texts:
            raise Panic("hunter2")
        return super().tokenize(texts, role, truncate)


async def tokens(tokenizer: TokenizerThread, encoder: BlockingTokenizer, *texts: str) -> list[str]:
    return [each.text for each in await tokenizer.tokenize(encoder, texts, "query", "END")]


async def busy(tokenizer: TokenizerThread, encoder: BlockingTokenizer) -> asyncio.Task[list[str]]:
    """A call that blocks the thread, so that later ones share a round."""
    first = asyncio.create_task(tokens(tokenizer, encoder, "1"))
    await eventually(encoder.entered.is_set)
    return first


def waiting_tasks(tokenizer: TokenizerThread) -> int:
    return sum(tokenizer._waiting.counts.values())


async def test_callers_get_their_tokens_in_order_without_blocking_the_loop() -> None:
    tokenizer, encoder = TokenizerThread(), BlockingTokenizer()
    calls = [[f"{n}", f"{n} again"] for n in range(30)]
    tasks = [asyncio.create_task(tokens(tokenizer, encoder, *texts)) for texts in calls]
    await eventually(encoder.entered.is_set)  # the event loop runs while a text is tokenized
    encoder.permits.release(30)
    assert await asyncio.gather(*tasks) == calls
    assert encoder.seen == [text for texts in calls for text in texts]
    assert encoder.threads == {"tokenizer"}
    tokenizer.stop()


async def test_callers_take_turns() -> None:
    tokenizer, encoder = TokenizerThread(), BlockingTokenizer()

    async def of_caller(caller: str, text: str) -> list[str]:
        set_caller(caller)
        return await tokens(tokenizer, encoder, text)

    first = asyncio.create_task(of_caller("flood", "first"))
    await eventually(encoder.entered.is_set)
    long = ROUND_CHARS * "a"  # each ends a round
    flood = [asyncio.create_task(of_caller("flood", f"{long} {n}")) for n in range(5)]
    await eventually(lambda: waiting_tasks(tokenizer) == 5)
    small = asyncio.create_task(of_caller("small", "1"))
    await eventually(lambda: len(tokenizer._waiting.counts) == 2)
    encoder.permits.release(10)
    await asyncio.gather(first, small, *flood)
    assert encoder.seen.index("1") == 2, "after the text that ran, and one that waited"
    assert encoder.seen[3:] == [f"{long} {n}" for n in range(1, 5)], "each caller keeps its order"
    tokenizer.stop()


async def test_bad_texts_fail_one_caller_and_cancelled_calls_are_skipped() -> None:
    tokenizer, encoder = TokenizerThread(), BlockingTokenizer()
    first = await busy(tokenizer, encoder)
    bad, leaving, last = [
        asyncio.create_task(tokens(tokenizer, encoder, *texts)) for texts in (["2", "bad"], ["3"], ["4"])
    ]
    await eventually(lambda: waiting_tasks(tokenizer) == 3)
    leaving.cancel()
    await asyncio.wait({leaving})
    encoder.permits.release(10)
    assert (await first, await last) == (["1"], ["4"])
    with pytest.raises(BadTexts, match="text 1: it is bad") as refused:
        await bad
    assert refused.value.__context__ is None, "it does not refer to the texts of others"
    together, each_alone = ["2", "bad", "4"], ["2", "bad", "4"]
    assert encoder.seen == ["1", *together, *each_alone]
    tokenizer.stop()


async def test_tasks_of_other_kinds_are_tokenized_apart() -> None:
    tokenizer, encoder, other = TokenizerThread(), BlockingTokenizer(), BlockingTokenizer()
    first = await busy(tokenizer, encoder)
    calls = [
        asyncio.create_task(tokenizer.tokenize(by, ["2"], role, truncate))
        for by in (encoder, other)
        for role in ("query", "document")
        for truncate in ("END", "START", "END")
    ]
    await eventually(lambda: waiting_tasks(tokenizer) == len(calls))
    encoder.permits.release(1 + 4)
    other.permits.release(4)
    await asyncio.gather(first, *calls)
    assert not encoder.permits.acquire(blocking=False), "a call for each kind"
    assert not other.permits.acquire(blocking=False)
    assert len(encoder.seen) == 1 + 6
    tokenizer.stop()


async def test_a_library_panic_fails_one_caller_and_the_thread_continues() -> None:
    tokenizer, encoder = TokenizerThread(), BlockingTokenizer()
    first = await busy(tokenizer, encoder)
    panicking, same_round = [asyncio.create_task(tokens(tokenizer, encoder, text)) for text in ("panic", "1")]
    await eventually(lambda: waiting_tasks(tokenizer) == 2)
    encoder.permits.release(10)
    await first
    with pytest.raises(RuntimeError, match="a library panicked") as failed:
        await panicking
    assert isinstance(failed.value.__cause__, Panic)
    assert await same_round == ["1"]
    assert await tokens(tokenizer, encoder, "2") == ["2"]
    tokenizer.stop()


async def test_stopping_answers_every_caller() -> None:
    tokenizer, encoder = TokenizerThread(), BlockingTokenizer()
    running = await busy(tokenizer, encoder)
    waiting = asyncio.create_task(tokens(tokenizer, encoder, "2"))
    await eventually(lambda: waiting_tasks(tokenizer) == 1)
    tokenizer.stop()
    encoder.permits.release(10)
    assert await running == ["1"]
    for late in (waiting, tokens(tokenizer, encoder, "3")):
        with pytest.raises(NotReady):
            await late
    assert encoder.seen == ["1"]
