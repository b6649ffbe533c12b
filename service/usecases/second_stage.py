"""The second stage of a search or a rerank: a model that reads each text together with the query."""

from __future__ import annotations

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.protocols import Encoder, Reranker
from semblance.service.usecases.text_embedder import InputText, TextEmbedder


async def pairs_with(query: InputText, reranker: Reranker, texts: TextEmbedder) -> Encoder:
    """An encoder whose vector of a text is its score for the query: it is queued, batched and cached as any other.

    Raises:
        InvalidRequest: the query leaves no room for a text.
    """
    pairs = reranker.paired_with(query.text)
    await texts.check(pairs, [InputText("a", query.pointer)], "document", "NONE")
    return pairs


def pair_score(scored: TokenEmbeddings) -> float:
    """The score of a text that such an encoder encoded."""
    return float(scored.pooled()[0])
