"""Semblance in LlamaIndex: only the sentences of nodes that carry the score of a query."""

from llama_index_semblance.prune import SemblancePrune

__all__ = ["SemblancePrune"]
