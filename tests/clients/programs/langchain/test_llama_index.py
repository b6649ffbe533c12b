"""Rerankers and embeddings of LlamaIndex."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import cohere
import pytest
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference
from llama_index.postprocessor.cohere_rerank import CohereRerank
from llama_index.postprocessor.jinaai_rerank import JinaRerank
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

from tests.clients.programs.task import (
    BEST,
    DOCUMENTS,
    KEY,
    MODEL,
    QUERY,
    URL,
    call_while_busy,
    check_ranking,
    check_vectors,
)

RERANKERS: dict[str, Callable[..., Any]] = {
    "cohere": lambda key=KEY, **more: CohereRerank(model=MODEL, api_key=key, base_url=URL, **more),
    "jina": lambda key=KEY, **more: JinaRerank(model=MODEL, api_key=key, base_url=f"{URL}/v1", **more),
    "tei": lambda key=KEY, **more: TextEmbeddingInference(base_url=URL, auth_token=f"Bearer {key}", **more),
}
EACH = pytest.mark.parametrize("reranker", RERANKERS)


def nodes(texts: list[str]) -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(text=text), score=0.0) for text in texts]


@EACH
def test_documents_are_ranked(reranker: str) -> None:
    def rank(documents: list[str], top_n: int) -> list[int]:
        found = RERANKERS[reranker](top_n=top_n).postprocess_nodes(nodes(documents), QueryBundle(QUERY))
        return [documents.index(each.node.get_content()) for each in found]

    check_ranking(rank)


@pytest.mark.parametrize(
    ("reranker", "query", "key"),
    [
        ("cohere", cohere.BadRequestError, cohere.UnauthorizedError),
        ("jina", RuntimeError, RuntimeError),
        ("tei", TypeError, AssertionError),  # it does not look at the status, and stumbles over the body
    ],
)
def test_refusals_raise_errors(reranker: str, query: type[Exception], key: type[Exception]) -> None:
    assert RERANKERS[reranker]().postprocess_nodes([], QueryBundle(QUERY)) == []
    with pytest.raises(query, match="no visible character" if reranker == "jina" else None):
        RERANKERS[reranker]().postprocess_nodes(nodes(DOCUMENTS), QueryBundle(" "))
    with pytest.raises(key, match="unknown key" if reranker == "jina" else None):
        RERANKERS[reranker](key="wrong").postprocess_nodes(nodes(DOCUMENTS), QueryBundle(QUERY))


def test_a_busy_service_is_asked_again() -> None:
    def rank(reranker: str, texts: list[str]) -> Any:
        return RERANKERS[reranker](top_n=1).postprocess_nodes(nodes(texts), QueryBundle(QUERY))

    made = call_while_busy(partial(rank, "cohere"))
    assert made.check_retried()[0].node.get_content() == DOCUMENTS[BEST]
    once = call_while_busy(partial(rank, "jina"))
    assert isinstance(once.result, RuntimeError)
    assert "try again later" in str(once.result)


def test_vectors_are_those_of_the_service() -> None:
    embeddings = TextEmbeddingsInference(
        model_name=MODEL, base_url=URL, auth_token=KEY, embed_batch_size=1000, query_instruction="", text_instruction=""
    )
    check_vectors(embeddings.get_text_embedding_batch, last=QUERY)
