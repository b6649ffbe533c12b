"""Stages of a search or a rerank: scores by a measure, then by a model that reads pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from semblance.models.embeddings import Doubles, TokenEmbeddings, join_passages
from semblance.models.protocols import Encoder, Reranker
from semblance.service.usecases.text_embedder import InputText, TextEmbedder


@dataclass(frozen=True, slots=True)
class ScoredTexts:
    """Texts that are scored: documents, or passages of those that are too long for the model.

    Attributes:
        places: (n,) positions of their documents in the request.
        embeddings: (n,) with their places in the documents.
        truncated: positions of documents that were truncated.
        further_tokens: number of tokens of the passages.
    """

    places: Sequence[int]
    embeddings: Sequence[TokenEmbeddings]
    truncated: Sequence[int]
    further_tokens: int

    def best(self, scores: Doubles) -> dict[int, TokenEmbeddings]:
        """The best text of each document, the first of equals."""
        best: dict[int, int] = {}
        for i, place in enumerate(self.places):
            if place not in best or scores[i] > scores[best[place]]:
                best[place] = i
        return {place: self.embeddings[i] for place, i in best.items()}

    def whole(self, place: int) -> TokenEmbeddings | None:
        """All texts of a document, in order, as one; None of a document without text."""
        own = [each for at, each in zip(self.places, self.embeddings, strict=True) if at == place]
        return join_passages(own) if len(own) > 1 else next(iter(own), None)


@dataclass(frozen=True, slots=True)
class Stage:
    """Scores of documents, and what was read of them.

    Attributes:
        scores: (n,) of the documents of the request; minus infinity of those without text.
        relevance: (n,) the scores mapped to [0, 1]; 0 of documents without text.
        truncated: positions of documents that were truncated.
        tokens: number of tokens.
    """

    scores: Doubles
    relevance: Doubles
    truncated: Sequence[int]
    tokens: int

    @classmethod
    def of(
        cls,
        documents: int,
        scored: ScoredTexts,
        of_texts: Doubles,
        relevance: Callable[[Doubles], Doubles],
        tokens: int,
    ) -> Self:
        """The scores of documents by those of their texts, the best of which counts."""
        scores, mapped = np.full(documents, -np.inf), np.zeros(documents)
        np.maximum.at(scores, scored.places, of_texts)
        places = list(set(scored.places))
        mapped[places] = relevance(scores[places])
        return cls(scores, mapped, scored.truncated, tokens + scored.further_tokens)


async def pairs_with(query: InputText, reranker: Reranker, texts: TextEmbedder) -> Encoder:
    """An encoder whose vector of a text is its score for the query.

    Raises:
        InvalidRequest: the query leaves no room for a text.
    """
    pairs = reranker.paired_with(query.text)
    await texts.check(pairs, [InputText("a", query.pointer)], "document", "NONE")
    return pairs


def pair_score(scored: TokenEmbeddings) -> float:
    """The score of a text that such an encoder encoded."""
    return float(scored.pooled()[0])
