"""Comparing many texts by a slow measure leaves room for others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest

from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.protocols import Encoder
from semblance.models.text import Role, Truncate
from semblance.service.ports.embedding import ServedModels
from semblance.service.usecases.compare import Compare, Comparison
from semblance.service.usecases.embed_texts import EmbeddedTexts, Given, TextEmbedder
from tests.support.token_matrices import embeddings_of

TOKENS, DIM = 200, 8


def made_of(number: int) -> TokenEmbeddings:
    return embeddings_of(np.random.default_rng(number).normal(size=(TOKENS, DIM)).astype(np.float32))


class Anything:
    """A model whose texts have drawn token vectors, each its own."""

    async def get(self, name: str | None) -> Encoder:
        del name
        return cast("Encoder", None)

    async def embed(
        self, encoder: Encoder, given: Sequence[Given], role: Role, want: Want, truncate: Truncate
    ) -> EmbeddedTexts:
        del encoder, role, want, truncate
        made = [made_of(int(text.text)) for text in given]
        return EmbeddedTexts(made, [False] * len(made), 0)


def compare() -> Compare:
    anything: Any = Anything()
    return Compare(cast("ServedModels", anything), cast("TextEmbedder", anything))


def texts(*numbers: int) -> list[Given]:
    return [Given(str(number), "") for number in numbers]


async def _done(work: Awaitable[object]) -> None:
    await work


@pytest.mark.parametrize("form", ["pairs", "matrix"])
def test_a_slow_comparison_gives_way_to_others_and_ends_with_its_client(form: str) -> None:
    """On one thread: exact transport over 4,096 pairs of 200 tokens takes half a minute or more."""

    async def use() -> tuple[float, float]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        left, right, with_ = texts(*range(64)), texts(*range(63, -1, -1)), Comparison("word_movers", None, "END")
        if form == "pairs":
            task = asyncio.create_task(_done(compare().pairs(left * 64, right * 64, with_, explain=False)))
        else:
            task = asyncio.create_task(_done(compare().matrix(left, right, with_)))
        await asyncio.sleep(0.2)
        began = time.monotonic()
        await asyncio.to_thread(time.monotonic)
        beside = time.monotonic() - began
        assert not task.done()
        task.cancel()
        await asyncio.to_thread(time.monotonic)
        after = time.monotonic() - began - beside
        with pytest.raises(asyncio.CancelledError):
            await task
        return beside, after

    assert max(asyncio.run(use())) < 5


@pytest.mark.parametrize("name", ["rcmd", "cosine", "set_jaccard"])
def test_portions_change_no_score(name: str) -> None:
    numbers = list(range(70))  # more tokens than one portion holds

    async def use() -> tuple[list[float], list[list[float]]]:
        with_ = Comparison(name, None, "END")
        pairs = await compare().pairs(texts(*numbers), texts(*reversed(numbers)), with_, explain=False)
        matrix = await compare().matrix(texts(1, 5, 2), texts(*numbers), with_)
        return list(pairs.scores), [list(row) for row in matrix.scores]

    made = [made_of(number) for number in numbers]
    pairs, matrix = asyncio.run(use())
    measure = similarity(name)
    assert pairs == pytest.approx([measure.score(a, b) for a, b in zip(made, reversed(made), strict=True)], abs=1e-6)
    for row, number in zip(matrix, (1, 5, 2), strict=True):
        assert row == pytest.approx([measure.score(made[number], other) for other in made], abs=1e-6)
