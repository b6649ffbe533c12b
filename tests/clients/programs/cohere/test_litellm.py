"""LiteLLM, by each of its providers that take an address."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import litellm
import pytest
import yaml

from tests.clients.programs.task import (
    BEST,
    BUSY_TEXTS,
    DOCUMENTS,
    KEY,
    LONG,
    MODEL,
    QUERY,
    UNKNOWN_MODEL,
    URL,
    call_while_busy,
    check_ranking,
    check_vectors,
)

ADDRESSES = {
    "hosted_vllm": f"{URL}/v1",
    "cohere": URL,
    "jina_ai": f"{URL}/v1/rerank",
    "huggingface": URL,
    "voyage": URL,
}
PAGE = Path("docs/integrations.md").read_text("utf-8")
EACH = pytest.mark.parametrize("provider", ADDRESSES)


def rerank(provider: str, **more: Any) -> Any:
    given = {"model": f"{provider}/{MODEL}", "api_base": ADDRESSES[provider], "api_key": KEY, "documents": DOCUMENTS}
    return litellm.rerank(query=QUERY, **{**given, **more})


@EACH
def test_documents_are_ranked(provider: str) -> None:
    def rank(documents: list[str], top_n: int) -> list[int]:
        found = rerank(provider, documents=documents, top_n=top_n).results
        scores = [each["relevance_score"] for each in found]
        assert scores == sorted(scores, reverse=True)
        return [each["index"] for each in found]

    check_ranking(rank, long=provider != "huggingface")


def test_long_documents_are_refused_as_the_client_asks() -> None:
    with pytest.raises(litellm.APIError, match="tokens exceed the 256"):  # it sends `truncate: false`
        rerank("huggingface", documents=[LONG])


@pytest.mark.parametrize("provider", ["hosted_vllm", "cohere"])
def test_documents_may_be_objects(provider: str) -> None:
    answer = rerank(provider, documents=[{"text": text} for text in DOCUMENTS])
    assert answer.results[0]["index"] == BEST


@EACH
def test_refusals_raise_its_own_errors(provider: str) -> None:
    invalid = litellm.APIError if provider == "huggingface" else litellm.BadRequestError  # TEI refuses by 422
    with pytest.raises(invalid, match="must not be empty"):
        rerank(provider, documents=[])
    with pytest.raises(litellm.AuthenticationError, match="unknown key"):
        rerank(provider, api_key="wrong")
    if provider != "huggingface":  # it sends no model, so that the service takes its default
        with pytest.raises(litellm.NotFoundError, match=MODEL):
            rerank(provider, model=f"{provider}/{UNKNOWN_MODEL}")


def test_embeddings_are_those_of_the_service() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        answer = litellm.embedding(model=f"openai/{MODEL}", input=texts, api_base=f"{URL}/v1", api_key=KEY)
        return [each["embedding"] for each in answer.data]

    check_vectors(embed)


@pytest.mark.parametrize("provider", ["hosted_vllm", "cohere"])
def test_a_busy_service_raises_its_own_error(provider: str) -> None:
    made = call_while_busy(lambda texts: rerank(provider, documents=texts))
    assert isinstance(made.result, litellm.RateLimitError), made.result


def test_a_router_asks_a_busy_service_again() -> None:
    """A router with the `model_list` of the page, as the proxy reads it."""
    [text] = re.findall(r"```yaml\n(model_list:.*?)```", PAGE, re.DOTALL)
    listed = yaml.safe_load(text.replace("http://127.0.0.1:8000", URL).replace("KEY", KEY))["model_list"]
    router = litellm.Router(listed, num_retries=3)
    ranked = call_while_busy(lambda texts: asyncio.run(router.arerank(model="reranker", query=QUERY, documents=texts)))
    assert ranked.check_retried().results[0]["index"] == BUSY_TEXTS - 1
    embedded = call_while_busy(lambda texts: router.embedding(model="embedder", input=texts))
    assert len(embedded.check_retried().data) == BUSY_TEXTS
