"""Drop the sentences of documents that add little to the score of a query."""

from __future__ import annotations

import numpy as np
from semblance_client.vocabulary.prune import DroppedSentence, Keep, KeptSentence, Pruned, PrunedDocument, PruneRequest
from semblance_client.vocabulary.responses import Usage

from semblance.models.embeddings import Doubles
from semblance.models.selection.kept_sentences import KeptSentences, SentenceMatches, keep_share, keep_tokens
from semblance.service.ports.embedding import ServedModels
from semblance.service.threads import until_left
from semblance.service.turns import in_thread
from semblance.service.usecases.request_fields import RequestLimits, require_at_most
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, Truncation

MEASURE = "rcmd1_content"  # whose cosines and masses decide what a sentence keeps
MAX_QUERY_TOKENS = 512
QUERY = Truncation("END", MAX_QUERY_TOKENS)
DOCUMENTS = Truncation("PASSAGES")  # all of a document is read, whatever the service does by default


class Prune:
    """Keeps the sentences that carry the score of a query, of all documents together."""

    def __init__(self, models: ServedModels, texts: TextEmbedder, limits: RequestLimits) -> None:
        self._models = models
        self._texts = texts
        self._limits = limits

    async def prune(self, request: PruneRequest) -> Pruned:
        """Choose the sentences to keep.

        Raises:
            UnknownModel, InvalidRequest, TooManyTokens: see the errors of models and service.
        """
        require_at_most("/documents", len(request.documents), self._limits.max_texts, "documents")
        encoder = await self._models.get(request.model)
        query = await self._texts.embed(encoder, [InputText(request.query, "/query")], "query", "tokens", QUERY)
        inputs = [InputText(text, f"/documents/{i}") for i, text in enumerate(request.documents)]
        documents = await self._texts.embed(encoder, inputs, "document", "tokens", DOCUMENTS)

        def choose() -> Pruned:
            matches = SentenceMatches.of(query.embeddings[0], until_left(documents.embeddings))
            kept = kept_sentences(matches, request.keep)
            shares = kept.gains / (matches.score or 1.0)
            return Pruned(
                documents=[_document(i, text, matches, kept, shares) for i, text in enumerate(request.documents)],
                truncated=query.truncated[0],
                score=matches.score,
                share=float(shares[kept.kept].sum()),
                rest=1 - float(shares.sum()),
                kept_tokens=int(matches.tokens[kept.kept].sum()),
                tokens=int(matches.tokens.sum()),
                model=encoder.name,
                space=encoder.space,
                measure=MEASURE,
                warnings=[*query.warnings, *documents.warnings],
                usage=Usage(tokens=query.tokens + documents.tokens, passages=documents.passages),
            )

        return await in_thread(choose)


def kept_sentences(matches: SentenceMatches, keep: Keep) -> KeptSentences:
    """The sentences that a request wants to keep."""
    if keep.tokens is not None:
        return keep_tokens(matches, keep.tokens)
    assert keep.share is not None, "one of the two is given"
    return keep_share(matches, keep.share)


def _document(index: int, text: str, matches: SentenceMatches, kept: KeptSentences, shares: Doubles) -> PrunedDocument:
    first, last = np.searchsorted(matches.documents, [index, index + 1]).tolist()
    document = PrunedDocument(index=index, kept=[], dropped=[], tokens=int(matches.tokens[first:last].sum()))
    for row in range(first, last):
        start, end = matches.spans[row]
        sentence = DroppedSentence(start=start, end=end, share=float(shares[row]), tokens=int(matches.tokens[row]))
        if kept.kept[row]:
            document.kept.append(KeptSentence(**dict(sentence), text=text[start:end]))
        else:
            document.dropped.append(sentence)
    return document
