"""Hits of Semblance as documents of LangChain."""

from __future__ import annotations

from langchain_core.documents import Document
from semblance_client import Hit


def document_of(hit: Hit) -> Document:
    """A hit as a document, with explanation, score and `rerank_score` in its metadata.

    Each only if the search asked for it. The explanation is in the form that JSON has.
    """
    more = {} if hit.explanation is None else {"score": hit.score, "explanation": hit.explanation.model_dump()}
    if hit.rerank_score is not None:
        more["rerank_score"] = hit.rerank_score
    return Document(id=hit.id, page_content=hit.text, metadata={**hit.metadata, **more})
