"""A collection as a vector store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from semblance_client import Client, NotFound, SearchResults, Uploaded

from langchain_semblance.hits import document_of


class RefusedDocuments(ValueError):
    """The service stored some documents and rejected others.

    Attributes:
        result: which were rejected, by their position from 1, and why.
    """

    def __init__(self, result: Uploaded) -> None:
        first = result.refused[0]
        place = f"document {first.line}: {first.field}: {first.detail}"
        super().__init__(f"refused: {result.failed}, stored: {result.upserted}; {place}")
        self.result = result


class SemblanceVectorStore(VectorStore):
    """Vector store over a collection, whose documents the service embeds by itself.

    Awaited methods run in threads. Searches take the options of `Client.search`, such as `filter`, `measure` and
    `min_score`; with `explain=True`, metadata get `score` and `explanation`, the words behind the score.

    Args:
        client: client of the service.
        collection: the collection; it is created with the first document.
    """

    def __init__(self, client: Client, collection: str = "default") -> None:
        self.client = client
        self.collection = collection

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> Self:
        """A store with these texts.

        Args:
            texts: the texts.
            embedding: ignored: the service embeds texts by the model of the collection.
            metadatas: one for each text.
            ids: one for each text.
            **options: the arguments of this class.
        """
        del embedding
        store = cls(**options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_documents(self, documents: list[Document], *, ids: list[str] | None = None, **_: Any) -> list[str]:
        """Store any number of documents; an id that exists is replaced. Returns their ids.

        Args:
            documents: the documents.
            ids: one for each document; by default their own, or random ones.

        Raises:
            RefusedDocuments: some cannot be stored, such as an empty one. The others are stored.
            ValueError: the number of ids differs from that of documents.
        """
        names = [each.id or str(uuid4()) for each in documents] if ids is None else ids
        if len(names) != len(documents):
            raise ValueError(f"{len(names)} ids for {len(documents)} documents: give one for each")
        rows = [
            {"id": name, "text": document.page_content, "metadata": document.metadata}
            for name, document in zip(names, documents, strict=True)
        ]
        try:
            result = self.client.upload(rows, self.collection, rejected="report")
        except NotFound:
            self.client.create_collection(self.collection)
            result = self.client.upload(rows, self.collection, rejected="report")
        if result.failed:
            raise RefusedDocuments(result)
        return names

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        """Delete documents; ids that do not exist are ignored.

        Raises:
            ValueError: no ids; `client.delete_collection` deletes all.
        """
        if ids is None:
            raise ValueError("name the ids to delete; client.delete_collection deletes the whole collection")
        for each in ids:
            try:
                self.client.delete_document(each, self.collection)
            except NotFound:
                continue
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids, without those that do not exist."""
        found = []
        for each in ids:
            try:
                stored = self.client.document(each, self.collection)
            except NotFound:
                continue
            found.append(Document(id=stored.id, page_content=stored.text, metadata=stored.metadata))
        return found

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """The k most similar documents."""
        return [document_of(hit) for hit in self._search(query, k, options).hits]

    def similarity_search_with_score(self, query: str, k: int = 4, **options: Any) -> list[tuple[Document, float]]:
        """The k most similar documents with their scores; higher is more alike."""
        return [(document_of(hit), hit.score) for hit in self._search(query, k, options).hits]

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Scores mapped to [0, 1] by the bounds of the measure. Raises ValueError if it has none."""
        found = self._search(query, k, {name: option for name, option in options.items() if name != "score_threshold"})
        [(low, high)] = [measure.bounds for measure in self.client.measures() if measure.name == found.measure]
        if low is None or high is None:
            raise ValueError(f"scores of {found.measure} have no bounds: use similarity_search_with_score")
        return [(document_of(hit), (hit.score - low) / (high - low)) for hit in found.hits]

    def _search(self, query: str, k: int, options: dict[str, Any]) -> SearchResults:
        return self.client.search(query, self.collection, k=k, **options)
