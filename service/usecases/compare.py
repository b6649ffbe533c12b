"""How alike are these texts?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from semblance.models.catalogue import wanted
from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.explanation import LinkList
from semblance.models.measures.chunks import portions
from semblance.models.measures.pairwise import all_with_all
from semblance.models.protocols import Encoder
from semblance.models.text import Truncate
from semblance.service.offload import Aside
from semblance.service.ports.embedding import ServedModels
from semblance.service.usecases.embed_texts import EmbeddedTexts, Given, TextEmbedder
from semblance.service.usecases.measures import explainable, measure, word_links

Pair: TypeAlias = tuple[TokenEmbeddings, TokenEmbeddings]

# Products of tokens that are computed at a time: some 30 pairs of 256 tokens, 0.2 s by the slowest measures but one.
# Between two portions others get the thread, and a client that left is seen: a small request of a slow measure, such as
# exact transport over long texts, would hold a thread for minutes.
PORTION = 2**21


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare with."""

    measure: str
    model: str | None
    truncate: Truncate


@dataclass(frozen=True, slots=True)
class ComparedPairs:
    """A score and, where asked for, an explanation for each pair."""

    encoder: Encoder
    scores: Sequence[float]
    truncated: Sequence[bool]
    explanations: Sequence[LinkList] | None
    tokens: int


@dataclass(frozen=True, slots=True)
class ComparedMatrix:
    """(left, right) scores, and which texts of each side were cut."""

    encoder: Encoder
    scores: Sequence[Sequence[float]]
    truncated_left: Sequence[bool]
    truncated_right: Sequence[bool]
    tokens: int


class Compare:
    """Scores texts with one another. Both sides are encoded in the role of a query, so a symmetric measure stays so."""

    def __init__(self, models: ServedModels, texts: TextEmbedder) -> None:
        self._models = models
        self._texts = texts
        self._aside = Aside()

    async def pairs(
        self, left: Sequence[Given], right: Sequence[Given], with_: Comparison, explain: bool
    ) -> ComparedPairs:
        """Score text i of the left with text i of the right."""
        similarity = measure(with_.measure)
        explainer = explainable(with_.measure) if explain else None
        encoder, both = await self._embed([*left, *right], with_, "tokens" if explain else wanted(similarity))
        pairs = list(zip(both.embeddings[: len(left)], both.embeddings[len(left) :], strict=True))

        def compute(some: Sequence[Pair]) -> tuple[list[float], list[LinkList]]:
            scores = [similarity.score(a, b) for a, b in some]
            return scores, [word_links(explainer, a, b) for a, b in some] if explainer else []

        work = [_work(a) * _work(b) for a, b in pairs]
        kind = f"{similarity.name} explained" if explain else similarity.name
        done = [
            await self._aside.do(kind, sum(work[some]), partial(compute, pairs[some]))
            for some in portions(work, PORTION)
        ]
        scores = [score for some, _ in done for score in some]
        explanations = [links for _, some in done for links in some] if explainer else None
        truncated = zip(both.truncated[: len(left)], both.truncated[len(left) :], strict=True)
        return ComparedPairs(encoder, scores, [a or b for a, b in truncated], explanations, both.tokens)

    async def matrix(self, left: Sequence[Given], right: Sequence[Given], with_: Comparison) -> ComparedMatrix:
        """Score every text of the left with every text of the right."""
        similarity = measure(with_.measure)
        encoder, both = await self._embed([*left, *right], with_, wanted(similarity))
        rows, columns = both.embeddings[: len(left)], both.embeddings[len(left) :]

        scores = np.empty((len(rows), len(columns)))
        for tile in _tiles(rows, columns):
            scores[tile] = await asyncio.to_thread(all_with_all, similarity, rows[tile[0]], columns[tile[1]])
        truncated = both.truncated[: len(left)], both.truncated[len(left) :]
        return ComparedMatrix(encoder, scores.tolist(), *truncated, both.tokens)

    async def _embed(self, given: Sequence[Given], with_: Comparison, want: Want) -> tuple[Encoder, EmbeddedTexts]:
        encoder = await self._models.get(with_.model)
        return encoder, await self._texts.embed(encoder, given, "query", want, with_.truncate)


def _tiles(rows: Sequence[TokenEmbeddings], columns: Sequence[TokenEmbeddings]) -> Iterator[tuple[slice, slice]]:
    """All pairs of a row and a column, in rectangles of bounded work."""
    longest = max((_work(row) for row in rows), default=1)
    for some_columns in portions([longest * _work(column) for column in columns], PORTION):
        across = sum(_work(column) for column in columns[some_columns])
        for some_rows in portions([_work(row) * across for row in rows], PORTION):
            yield some_rows, some_columns


def _work(text: TokenEmbeddings) -> int:
    """What a text adds to the work of comparing it: its tokens; a pooled vector is as one."""
    return max(1, len(text))
