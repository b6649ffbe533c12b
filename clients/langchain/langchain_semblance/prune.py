"""Pruning as a document compressor."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict
from semblance_client import Client


class SemblancePrune(BaseDocumentCompressor):
    """Keeps the sentences that carry the score of a query, of all documents together.

    A document of which nothing is kept is left out; the order stays. Metadata get `kept`, the first and one-past-last
    character of each sentence that is kept.

    Attributes:
        client: client of the service.
        share: least share of the score to keep; 0.9 by default, unless `tokens` is given.
        tokens: token budget of all documents together.
        model: a served model.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    client: Client
    share: float | None = None
    tokens: int | None = None
    model: str | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents with their kept sentences only; those given are not changed."""
        del callbacks  # there are no steps to report
        readable = [each for each in documents if each.page_content.strip()]
        if not readable:
            return []
        texts = [each.page_content for each in readable]
        pruned = self.client.prune(query, texts, share=self.share, tokens=self.tokens, model=self.model)
        return [
            document.model_copy(
                update={
                    "page_content": " ".join(sentence.text for sentence in found.kept),
                    "metadata": {**document.metadata, "kept": [(each.start, each.end) for each in found.kept]},
                }
            )
            for document, found in zip(readable, pruned.documents, strict=True)
            if found.kept
        ]
