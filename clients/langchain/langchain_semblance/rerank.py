"""Reranking as a document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict
from semblance_client import Client, RankedDocument, Spans


class SemblanceRerank(BaseDocumentCompressor):
    """Keeps the documents most relevant to a query, best first.

    Their metadata get `relevance_score`, in [0, 1], and with a rerank model `rerank_score`.

    Attributes:
        client: client of the service.
        top_n: most documents to keep; None for all.
        measure: `rcmd1_words` by default.
        model: a served model.
        rerank_model: a served rerank model, which orders the documents.
        min_probability: least probability of a document; the measure needs a calibration.
        explain: whether metadata get `highlights`, the parts that match the query, and `explanation`, the words
            behind the score.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    client: Client
    top_n: int | None = 3
    measure: str | None = None
    model: str | None = None
    rerank_model: str | None = None
    min_probability: float | None = None
    explain: bool = False

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The best documents; those given are not changed."""
        del callbacks  # there are no steps to report
        if not documents:
            return []
        ranking = self.client.rerank(
            query,
            [document.page_content for document in documents],
            top_n=self.top_n,
            measure=self.measure,
            model=self.model,
            rerank_model=self.rerank_model,
            min_probability=self.min_probability,
            relevant_spans=Spans() if self.explain else None,
            explain=self.explain,
        )
        return [self._ranked(documents[result.index], result) for result in ranking.results]

    def _ranked(self, document: Document, ranked: RankedDocument) -> Document:
        more: dict[str, Any] = {"relevance_score": ranked.relevance_score}
        if ranked.rerank_score is not None:
            more["rerank_score"] = ranked.rerank_score
        if self.explain:
            spans = ranked.relevant_spans or []
            more["highlights"] = [document.page_content[span.start : span.end] for span in spans]
            more["explanation"] = ranked.explanation and ranked.explanation.model_dump()
        return document.model_copy(update={"metadata": {**document.metadata, **more}})
