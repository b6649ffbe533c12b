"""Routes, one file a path. A new file exports its `router`, which is listed here."""

from semblance.service.api.other_apis import cohere, ollama, openai, rerank, tei, vllm
from semblance.service.api.routes import (
    aliases,
    caches,
    collections,
    documents,
    duplicates,
    explain,
    explain_difference,
    files,
    health,
    matching,
    models,
    prune,
    reembeddings,
    same,
    search,
    similarity,
)

_MODULES = (
    similarity,
    search,
    explain,
    explain_difference,
    prune,
    same,
    caches,
    rerank,
    vllm,
    openai,
    collections,
    aliases,
    reembeddings,
    documents,
    matching,
    duplicates,
    files,
    models,
    health,
    tei,
    ollama,
    cohere,
)
ROUTERS = (*(module.router for module in _MODULES), tei.pages, ollama.pages)
