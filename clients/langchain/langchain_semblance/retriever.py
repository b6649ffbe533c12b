"""Search as a retriever."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from semblance_client import Client

from langchain_semblance.hits import document_of

_OPTIONS = ("k", "measure", "rerank_model", "filter", "min_score", "min_probability", "explain")


class SemblanceRetriever(BaseRetriever):
    """Retriever over a collection.

    `invoke` takes the same options for a single query, such as `k=3`. Awaited methods run in threads.

    Attributes:
        client: client of the service.
        collection: where to search.
        k: number of documents.
        measure: the collection's own by default.
        rerank_model: a served rerank model, which orders the documents.
        filter: conditions on metadata, such as `{"category": "shipping"}`.
        min_score: least score of a document.
        min_probability: least probability of a document; the measure needs a calibration.
        explain: whether metadata get `score` and `explanation`, the words behind the score.
    """

    client: Client
    collection: str = "default"
    k: int = 4
    measure: str | None = None
    rerank_model: str | None = None
    filter: dict[str, Any] | None = None
    min_score: float | None = None
    min_probability: float | None = None
    explain: bool = False

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager  # there are no steps to report
        own = {name: getattr(self, name) for name in _OPTIONS}
        return [document_of(hit) for hit in self.client.search(query, self.collection, **{**own, **options}).hits]
