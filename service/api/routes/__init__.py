"""Routes, one file a path. A new file exports its `router`, which is listed here."""

from semblance.service.api.routes import (
    collections,
    documents,
    embeddings,
    explain,
    health,
    models,
    reembeddings,
    rerank,
    search,
    similarity,
)

ROUTERS = tuple(
    module.router
    for module in (
        similarity,
        search,
        explain,
        rerank,
        embeddings,
        collections,
        reembeddings,
        documents,
        models,
        health,
    )
)
