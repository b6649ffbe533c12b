"""How alike are these texts?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from models.catalogue import wanted
from models.embeddings import TokenEmbeddings, Want
from models.explanation import LinkList
from models.protocols import Encoder
from models.text import Truncate
from service.aside import Aside
from service.ports import ServedModels
from service.usecases.embed_texts import EmbeddedTexts, Given, TextEmbedder
from service.usecases.measures import explainable, measure, word_links

Pair: TypeAlias = tuple[TokenEmbeddings, TokenEmbeddings]

PORTION = 2**21  # products of tokens: some 30 pairs of 256 tokens, 0.2 s by the slowest measures but one


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

        kind = f"{similarity.name} explained" if explain else similarity.name
        portions = [await self._aside.do(kind, _work(some), partial(compute, some)) for some in _portions(pairs)]
        scores = [score for some, _ in portions for score in some]
        explanations = [links for _, some in portions for links in some] if explainer else None
        truncated = zip(both.truncated[: len(left)], both.truncated[len(left) :], strict=True)
        return ComparedPairs(encoder, scores, [a or b for a, b in truncated], explanations, both.tokens)

    async def matrix(self, left: Sequence[Given], right: Sequence[Given], with_: Comparison) -> ComparedMatrix:
        """Score every text of the left with every text of the right."""
        similarity = measure(with_.measure)
        encoder, both = await self._embed([*left, *right], with_, wanted(similarity))
        rows, columns = both.embeddings[: len(left)], both.embeddings[len(left) :]

        def compute(some: Sequence[Pair]) -> list[float]:
            scores: list[float] = similarity.score_many(some[0][0], [column for _, column in some]).tolist()
            return scores

        scores = []
        for row in rows:
            portions = _portions([(row, column) for column in columns])
            scores.append([score for some in portions for score in await asyncio.to_thread(compute, some)])
        return ComparedMatrix(encoder, scores, both.truncated[: len(left)], both.truncated[len(left) :], both.tokens)

    async def _embed(self, given: Sequence[Given], with_: Comparison, want: Want) -> tuple[Encoder, EmbeddedTexts]:
        encoder = await self._models.get(with_.model)
        return encoder, await self._texts.embed(encoder, given, "query", want, with_.truncate)


def _portions(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """The pairs in portions of bounded work: between two of them others get the thread, and a client that left is seen.

    Without this a small request of a slow measure (exact transport over long texts) would hold a thread for minutes.
    """
    portion: list[Pair] = []
    work = 0
    for a, b in pairs:
        portion.append((a, b))
        work += _work([(a, b)])
        if work > PORTION:
            yield portion
            portion, work = [], 0
    if portion:
        yield portion


def _work(pairs: Sequence[Pair]) -> int:
    return sum(1 + len(a) * len(b) for a, b in pairs)
