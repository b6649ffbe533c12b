"""The sentences of documents to read on."""

from __future__ import annotations

from collections.abc import Iterable

from semblance_client.calls import wire
from semblance_client.steps import Call
from semblance_client.vocabulary.prune import Pruned


def prune(
    query: str,
    documents: Iterable[str],
    *,
    share: float | None = None,
    tokens: int | None = None,
    model: str | None = None,
) -> Call[Pruned]:
    """Keep the sentences of documents that carry the score of a query.

    It saves tokens of a language model that reads the documents.

    Args:
        query: the query.
        documents: their texts, such as those of the hits of a search.
        share: least share of the score to keep; the default is 0.9, unless `tokens` is given.
        tokens: token budget of all documents together.
        model: a served model.

    Example:
        >>> documents = ["We are open all week. A lost parcel is sent again.", "A lost parcel is sent again."]
        >>> pruned = client.prune("my parcel is lost", documents)
        >>> [[kept.text for kept in document.kept] for document in pruned.documents]
        [[], ['A lost parcel is sent again.']]
    """
    keep = wire.fields(share=share, tokens=tokens)
    body = wire.fields(query=query, documents=list(documents), keep=keep or None, model=model)
    return wire.post("/prune", body, Pruned)
