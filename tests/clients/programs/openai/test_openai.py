"""OpenAI's client."""

from __future__ import annotations

import openai
import pytest

from tests.clients.programs.task import (
    BUSY_TEXTS,
    DOCUMENTS,
    KEY,
    MODEL,
    UNKNOWN_MODEL,
    URL,
    call_while_busy,
    check_vectors,
)


def client(key: str = KEY, retries: int = 2) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=retries)


def test_vectors_are_those_of_the_service() -> None:
    check_vectors(lambda texts: [each.embedding for each in client().embeddings.create(model=MODEL, input=texts).data])


def test_the_address_may_lack_the_version() -> None:
    for base in (URL, f"{URL}/", f"{URL}/v1/"):
        found = openai.OpenAI(base_url=base, api_key=KEY).embeddings.create(model=MODEL, input=DOCUMENTS)
        assert len(found.data) == len(DOCUMENTS)


def test_a_doubled_version_is_explained() -> None:
    with pytest.raises(openai.NotFoundError, match="use the base address without /v1"):
        openai.OpenAI(base_url=f"{URL}/v1/v1", api_key=KEY).embeddings.create(model=MODEL, input=DOCUMENTS)


def azure(key: str = KEY, deployment: str | None = None) -> openai.AzureOpenAI:
    return openai.AzureOpenAI(
        azure_endpoint=URL, azure_deployment=deployment, api_key=key, api_version="2024-10-21", max_retries=0
    )


def test_clients_of_azure_name_the_model_as_deployment() -> None:
    check_vectors(lambda texts: [each.embedding for each in azure().embeddings.create(model=MODEL, input=texts).data])
    named = azure(deployment=MODEL).embeddings.create(model="text-embedding-ada-002", input=DOCUMENTS)
    assert (named.model, len(named.data)) == (MODEL, len(DOCUMENTS))
    with pytest.raises(openai.NotFoundError, match=MODEL):
        azure().embeddings.create(model=UNKNOWN_MODEL, input=DOCUMENTS)
    with pytest.raises(openai.AuthenticationError):
        azure("wrong").embeddings.create(model=MODEL, input=DOCUMENTS)


def test_models_are_listed() -> None:
    assert MODEL in [each.id for each in client().models.list()]


def test_refusals_raise_its_own_errors() -> None:
    with pytest.raises(openai.BadRequestError, match="must not be empty"):
        client().embeddings.create(model=MODEL, input=[])
    with pytest.raises(openai.NotFoundError, match=MODEL):
        client().embeddings.create(model=UNKNOWN_MODEL, input=DOCUMENTS)
    with pytest.raises(openai.AuthenticationError):
        client("wrong").models.list()


def test_a_busy_service_is_asked_again() -> None:
    made = call_while_busy(lambda texts: client().embeddings.create(model=MODEL, input=texts))
    assert len(made.check_retried().data) == BUSY_TEXTS
    once = call_while_busy(lambda texts: client(retries=0).embeddings.create(model=MODEL, input=texts))
    assert isinstance(once.result, openai.RateLimitError)
