"""Routes, one file a path. A new file exports its `router`, which is listed here."""

from semblance.service.api.routes import (
    collections,
    count,
    documents,
    embeddings,
    explain,
    health,
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
    rerank,
    scores,
    embeddings,
    collections,
    reembeddings,
    documents,
    count,
    models,
    health,
    tei,
    ollama,
)
ROUTERS = (*(module.router for module in _MODULES), tei.pages)
