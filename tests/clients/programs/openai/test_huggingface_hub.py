"""Hugging Face's client."""

from __future__ import annotations

import pytest
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from tests.clients.programs.task import BEST, DOCUMENTS, KEY, QUERY, THOUSAND, URL, call_while_busy, check_vectors


@pytest.mark.parametrize("address", [URL, f"{URL}/embed"])
def test_vectors_are_those_of_the_service(address: str) -> None:
    client = InferenceClient(model=address, token=KEY)
    check_vectors(lambda texts: client.feature_extraction(texts).tolist())
    cut = client.feature_extraction(QUERY, dimensions=8, truncate=True, truncation_direction="right")
    assert cut.shape == (1, 8)


@pytest.mark.parametrize("address", [URL, f"{URL}/similarity"])
def test_sentences_are_compared(address: str) -> None:
    client = InferenceClient(model=address, token=KEY)
    scores = client.sentence_similarity(QUERY, other_sentences=DOCUMENTS)
    assert max(range(3), key=scores.__getitem__) == BEST
    assert len(client.sentence_similarity(QUERY, other_sentences=THOUSAND)) == 1000


def test_refusals_raise_its_own_error() -> None:
    for status, key, text in ((422, KEY, ""), (401, "wrong", QUERY)):
        with pytest.raises(HfHubHTTPError) as refused:
            InferenceClient(model=URL, token=key).feature_extraction(text)
        assert refused.value.response.status_code == status
    with pytest.raises(HfHubHTTPError, match="422"):
        InferenceClient(model=URL, token=KEY).sentence_similarity(QUERY, other_sentences=[])


def test_a_busy_service_raises_its_own_error() -> None:
    client = InferenceClient(model=f"{URL}/similarity", token=KEY)
    made = call_while_busy(lambda texts: client.sentence_similarity(QUERY, other_sentences=texts))
    assert isinstance(made.result, HfHubHTTPError)
    assert made.result.response.status_code == 429
