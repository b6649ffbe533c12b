"""A large comparison by a slow measure does not block other requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.protocols import Encoder
from semblance.models.text import Role, Truncate
from semblance.service.ports.embedding import ServedModels
from semblance.service.usecases.compare import Compare, CompareOptions
from semblance.service.usecases.embed import InputText, TextEmbedder, TextEmbeddings
from tests.support.token_matrices import embeddings_of

TOKENS, DIM = 200, 8


def random_tokens(number: int) -> TokenEmbeddings:
    return embeddings_of(np.random.default_rng(number).normal(size=(TOKENS, DIM)).astype(np.float32))


class RandomModel:
    """A model whose texts have random token vectors, seeded by the text."""

    async def get(self, name: str | None) -> Encoder:
        del name
        return cast("Encoder", SimpleNamespace(space="random"))

    async def embed(
        self, encoder: Encoder, texts: Sequence[InputText], role: Role, want: Want, truncate: Truncate
    ) -> TextEmbeddings:
        del encoder, role, want, truncate
        made = [random_tokens(int(text.text)) for text in texts]
        return TextEmbeddings(made, [False] * len(made), 0)


def compare() -> Compare:
    model: Any = RandomModel()
    return Compare(cast("ServedModels", model), cast("TextEmbedder", model), {})


def texts(*numbers: int) -> list[InputText]:
    return [InputText(str(number), "") for number in numbers]


async def _done(work: Awaitable[object]) -> None:
    await work


@pytest.mark.parametrize("form", ["pairs", "matrix"])
async def test_a_slow_comparison_yields_to_others_and_can_be_cancelled(form: str) -> None:
    """On one thread: exact transport over 4,096 pairs of 200 tokens takes at least half a minute."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    left, right, options = texts(*range(64)), texts(*range(63, -1, -1)), CompareOptions("word_movers", None, "END")
    if form == "pairs":
        task = asyncio.create_task(_done(compare().pairs(left * 64, right * 64, options, explain=False)))
    else:
        task = asyncio.create_task(_done(compare().matrix(left, right, options)))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    await asyncio.to_thread(time.monotonic)
    during = time.monotonic() - began
    assert not task.done()
    task.cancel()
    await asyncio.to_thread(time.monotonic)
    after = time.monotonic() - began - during
    with pytest.raises(asyncio.CancelledError):
        await task
    assert max(during, after) < 5


@pytest.mark.parametrize("name", ["rcmd", "cosine", "set_jaccard"])
async def test_chunks_do_not_change_scores(name: str) -> None:
    numbers = list(range(70))  # more tokens than one chunk
    made = [random_tokens(number) for number in numbers]
    options = CompareOptions(name, None, "END")
    pairs = await compare().pairs(texts(*numbers), texts(*reversed(numbers)), options, explain=False)
    matrix = await compare().matrix(texts(1, 5, 2), texts(*numbers), options)
    measure = similarity(name)
    expected = [measure.score(a, b) for a, b in zip(made, reversed(made), strict=True)]
    assert list(pairs.scores) == pytest.approx(expected, abs=1e-6)
    for row, number in zip(matrix.scores, (1, 5, 2), strict=True):
        assert list(row) == pytest.approx([measure.score(made[number], other) for other in made], abs=1e-6)
