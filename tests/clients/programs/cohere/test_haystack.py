"""Rankers and embedders of Haystack."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import cohere
import openai
import pytest
from haystack import Document
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.utils import Secret
from haystack_integrations.components.embedders.huggingface_api import (
    HuggingFaceAPIDocumentEmbedder,
    HuggingFaceAPITextEmbedder,
)
from haystack_integrations.components.rankers.cohere import CohereRanker
from haystack_integrations.components.rankers.huggingface_api import HuggingFaceTEIRanker
from haystack_integrations.components.rankers.jina import JinaRanker
from huggingface_hub.errors import HfHubHTTPError

from tests.clients.programs.task import (
    ATTEMPTS,
    BEST,
    DOCUMENTS,
    KEY,
    MODEL,
    ORDER,
    QUERY,
    UNKNOWN_MODEL,
    URL,
    call_while_busy,
    check_long_text,
    check_ranking,
    check_vectors,
)

RANKERS: dict[str, Callable[..., Any]] = {
    "cohere": lambda key=KEY, model=MODEL, **more: CohereRanker(
        model, api_key=Secret.from_token(key), api_base_url=URL, **more
    ),
    "jina": lambda key=KEY, model=MODEL, **more: JinaRanker(
        model, api_key=Secret.from_token(key), base_url=f"{URL}/v1/rerank", **more
    ),
    "tei": lambda key=KEY, **more: HuggingFaceTEIRanker(
        url=URL, token=Secret.from_token(key), max_retries=ATTEMPTS, **more
    ),
}
EACH = pytest.mark.parametrize("ranker", RANKERS)


@EACH
def test_documents_are_ranked(ranker: str) -> None:
    def rank(documents: list[str], top_n: int) -> list[int]:
        given = [Document(content=text) for text in documents]
        found = RANKERS[ranker](top_k=top_n).run(query=QUERY, documents=given)["documents"]
        return [documents.index(each.content) for each in found]

    check_ranking(rank)


@pytest.mark.parametrize(
    ("ranker", "message"), [("cohere", "no visible character"), ("jina", "no visible character"), ("tei", "422")]
)
def test_refusals_raise_its_own_errors(ranker: str, message: str) -> None:
    given = [Document(content=text) for text in DOCUMENTS]
    with pytest.raises((cohere.BadRequestError, RuntimeError), match=message):
        RANKERS[ranker]().run(query=" ", documents=given)
    with pytest.raises((cohere.UnauthorizedError, RuntimeError), match=r"unknown key|401"):
        RANKERS[ranker](key="wrong").run(query=QUERY, documents=given)
    if ranker != "tei":  # it sends no model
        with pytest.raises((cohere.NotFoundError, RuntimeError), match=MODEL):
            RANKERS[ranker](model=UNKNOWN_MODEL).run(query=QUERY, documents=given)


@EACH
def test_blank_documents_are_ranked_last(ranker: str) -> None:
    given = [Document(content=" "), *(Document(content=text) for text in DOCUMENTS)]
    found = RANKERS[ranker]().run(query=QUERY, documents=given)["documents"]
    assert [each.content for each in found] == [*(DOCUMENTS[i] for i in ORDER), " "]


def test_no_documents_are_refused_or_never_sent() -> None:
    with pytest.raises(cohere.BadRequestError, match="must not be empty"):
        RANKERS["cohere"]().run(query=QUERY, documents=[])
    for ranker in ("jina", "tei"):
        assert RANKERS[ranker]().run(query=QUERY, documents=[]) == {"documents": []}


@EACH
def test_a_busy_service_is_asked_again(ranker: str) -> None:
    def rank(texts: list[str]) -> Any:
        given = [Document(content=text) for text in texts]
        return RANKERS[ranker](top_k=1).run(query=QUERY, documents=given)

    made = call_while_busy(rank)
    if ranker == "jina":  # it does not try again
        assert isinstance(made.result, RuntimeError)
        assert "try again later" in str(made.result)
    else:
        [best] = made.check_retried()["documents"]
        assert best.content == DOCUMENTS[BEST]


def embedders_of_tei(key: str = KEY) -> tuple[Any, Any]:
    server = {"api_type": "text_embeddings_inference", "api_params": {"url": URL}, "token": Secret.from_token(key)}
    documents = HuggingFaceAPIDocumentEmbedder(**server, batch_size=1000, progress_bar=False)
    return HuggingFaceAPITextEmbedder(**server), documents


def embedders_of_openai(key: str = KEY, model: str = MODEL) -> tuple[Any, Any]:
    server = {"model": model, "api_base_url": f"{URL}/v1", "api_key": Secret.from_token(key)}
    documents = OpenAIDocumentEmbedder(**server, batch_size=1000, progress_bar=False, raise_on_failure=True)
    return OpenAITextEmbedder(**server), documents


def embed(embedders: tuple[Any, Any], texts: list[str]) -> list[list[float]]:
    """Vectors, by the embedder of texts if it is one."""
    of_text, of_documents = embedders
    if len(texts) == 1:
        return [of_text.run(text=texts[0])["embedding"]]
    found = of_documents.run(documents=[Document(content=text) for text in texts])["documents"]
    return [each.embedding for each in found]


def test_vectors_are_those_of_the_service() -> None:
    check_vectors(partial(embed, embedders_of_tei()))
    check_vectors(partial(embed, embedders_of_openai()))


def test_long_texts_are_truncated_as_by_tei_only() -> None:
    check_long_text(partial(embed, embedders_of_tei()), truncated=True)
    check_long_text(partial(embed, embedders_of_openai()))


@pytest.mark.parametrize("texts", [DOCUMENTS[:1], DOCUMENTS])
def test_refused_texts_raise_errors_of_their_clients(texts: list[str]) -> None:
    with pytest.raises(HfHubHTTPError, match="401"):
        embed(embedders_of_tei("wrong"), texts)
    with pytest.raises(openai.AuthenticationError, match="unknown key"):
        embed(embedders_of_openai("wrong"), texts)
    with pytest.raises(openai.NotFoundError, match=MODEL):
        embed(embedders_of_openai(model=UNKNOWN_MODEL), texts)
