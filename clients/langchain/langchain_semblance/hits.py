"""Hits of Semblance as documents of LangChain."""

from __future__ import annotations

from langchain_core.documents import Document
from semblance_client import Hit


def document_of(hit: Hit) -> Document:
    """A hit as a document. If it has an explanation, this and the score join its metadata.

    The explanation is in the form that JSON has.
    """
    more = {} if hit.explanation is None else {"score": hit.score, "explanation": hit.explanation.model_dump()}
    return Document(id=hit.id, page_content=hit.text, metadata={**hit.metadata, **more})
