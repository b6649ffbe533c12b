"""Drop the sentences of documents that add little to the score of a query."""

from __future__ import annotations

from semblance_client.vocabulary.prune import KeptSentence, Pruned, PrunedDocument, PruneRequest
from semblance_client.vocabulary.responses import Usage

from semblance.service.ports.embedding import ServedModels
from semblance.service.threads import until_left
from semblance.service.turns import in_thread
from semblance.service.usecases.pruning.chosen import MAX_QUERY_TOKENS, ChosenSentences
from semblance.service.usecases.request_fields import RequestLimits, require_at_most
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, Truncation

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
            chosen = ChosenSentences.of(query.embeddings[0], until_left(documents.embeddings), request.keep)
            return Pruned(
                **dict(chosen.totals),
                documents=[_document(i, text, chosen) for i, text in enumerate(request.documents)],
                truncated=query.truncated[0],
                model=encoder.name,
                space=encoder.space,
                warnings=[*query.warnings, *documents.warnings],
                usage=Usage(tokens=query.tokens + documents.tokens, passages=documents.passages),
            )

        return await in_thread(choose)


def _document(index: int, text: str, chosen: ChosenSentences) -> PrunedDocument:
    every = list(chosen.of_text(index, text))
    return PrunedDocument(
        index=index,
        kept=[each for each in every if isinstance(each, KeptSentence)],
        dropped=[each for each in every if not isinstance(each, KeptSentence)],
        tokens=sum(each.tokens for each in every),
    )
