"""How alike are these texts?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from models.catalogue import wanted
from models.embeddings import Want
from models.explanation import LinkList
from models.protocols import Encoder
from models.text import Truncate
from service.ports import ServedModels
from service.usecases.embed_texts import EmbeddedTexts, Given, TextEmbedder
from service.usecases.measures import explainable, measure, word_links


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

    async def pairs(
        self, left: Sequence[Given], right: Sequence[Given], with_: Comparison, explain: bool
    ) -> ComparedPairs:
        """Score text i of the left with text i of the right."""
        similarity = measure(with_.measure)
        explainer = explainable(with_.measure) if explain else None
        encoder, both = await self._embed([*left, *right], with_, "tokens" if explain else wanted(similarity))
        pairs = list(zip(both.embeddings[: len(left)], both.embeddings[len(left) :], strict=True))

        def compute() -> tuple[list[float], list[LinkList] | None]:
            scores = [similarity.score(a, b) for a, b in pairs]
            return scores, [word_links(explainer, a, b) for a, b in pairs] if explainer else None

        scores, explanations = await asyncio.to_thread(compute)
        truncated = zip(both.truncated[: len(left)], both.truncated[len(left) :], strict=True)
        return ComparedPairs(encoder, scores, [a or b for a, b in truncated], explanations, both.tokens)

    async def matrix(self, left: Sequence[Given], right: Sequence[Given], with_: Comparison) -> ComparedMatrix:
        """Score every text of the left with every text of the right."""
        similarity = measure(with_.measure)
        encoder, both = await self._embed([*left, *right], with_, wanted(similarity))
        rows, columns = both.embeddings[: len(left)], both.embeddings[len(left) :]

        def compute() -> list[list[float]]:
            return [similarity.score_many(row, columns).tolist() for row in rows]

        scores = await asyncio.to_thread(compute)
        return ComparedMatrix(encoder, scores, both.truncated[: len(left)], both.truncated[len(left) :], both.tokens)

    async def _embed(self, given: Sequence[Given], with_: Comparison, want: Want) -> tuple[Encoder, EmbeddedTexts]:
        encoder = await self._models.get(with_.model)
        return encoder, await self._texts.embed(encoder, given, "query", want, with_.truncate)
