"""Routes, one file a path. A new file exports its `router`, which is listed here."""

from semblance.service.api.routes import (
    collections,
    documents,
    duplicates,
    embeddings,
    explain,
    explain_difference,
    health,
    matching,
    models,
    ollama,
    reembeddings,
    rerank,
    scores,
    search,
    similarity,
    tei,
)

_MODULES = (
    similarity,
    search,
    explain,
    explain_difference,
    rerank,
    scores,
    embeddings,
    collections,
    reembeddings,
    documents,
    matching,
    duplicates,
    models,
    health,
    tei,
    ollama,
)
ROUTERS = (*(module.router for module in _MODULES), tei.pages)
