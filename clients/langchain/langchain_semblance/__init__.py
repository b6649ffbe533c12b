"""Semblance in LangChain: search, storage and reranking that show words, and pruning."""

from langchain_semblance.prune import SemblancePrune
from langchain_semblance.rerank import SemblanceRerank
from langchain_semblance.retriever import SemblanceRetriever
from langchain_semblance.vector_store import RefusedDocuments, SemblanceVectorStore

__all__ = ["RefusedDocuments", "SemblancePrune", "SemblanceRerank", "SemblanceRetriever", "SemblanceVectorStore"]
