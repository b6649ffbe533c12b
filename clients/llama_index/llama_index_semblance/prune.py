"""Pruning as a node postprocessor."""

from __future__ import annotations

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from pydantic import ConfigDict
from semblance_client import Client


class SemblancePrune(BaseNodePostprocessor):
    """Keeps the sentences of nodes that carry the score of a query, of all nodes together.

    A node of which nothing is kept is left out; order, scores and metadata stay.

    Attributes:
        client: client of the service.
        share: least share of the score to keep; 0.9 by default, unless `tokens` is given.
        tokens: token budget of all nodes together.
        model: a served model.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    client: Client
    share: float | None = None
    tokens: int | None = None
    model: str | None = None

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows this class."""
        return "SemblancePrune"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """The nodes with their kept sentences only; those given are not changed."""
        readable = [each for each in nodes if _text(each).strip()]
        if not readable:
            return []
        if query_bundle is None:
            raise ValueError("pruning needs a query, as query_bundle or query_str")
        texts = list(map(_text, readable))
        pruned = self.client.prune(
            query_bundle.query_str, texts, share=self.share, tokens=self.tokens, model=self.model
        )
        return [
            _with_text(each, " ".join(sentence.text for sentence in found.kept))
            for each, found in zip(readable, pruned.documents, strict=True)
            if found.kept
        ]


def _text(scored: NodeWithScore) -> str:
    """The text of a node without its metadata."""
    text: str = scored.node.get_content(metadata_mode=MetadataMode.NONE)
    return text


def _with_text(scored: NodeWithScore, text: str) -> NodeWithScore:
    node = scored.node.model_copy()
    node.set_content(text)
    return NodeWithScore(node=node, score=scored.score)
