"""Semblance in LangChain: explained search and reranking, pruning, a semantic cache."""

from langchain_semblance.cache import SemblanceCache
from langchain_semblance.prune import SemblancePrune
from langchain_semblance.rerank import SemblanceRerank
from langchain_semblance.retriever import SemblanceRetriever
from langchain_semblance.vector_store import RefusedDocuments, SemblanceVectorStore

__all__ = [
    "RefusedDocuments",
    "SemblanceCache",
    "SemblancePrune",
    "SemblanceRerank",
    "SemblanceRetriever",
    "SemblanceVectorStore",
]
