"""Large requests of long texts, which the running service reads in passages or rejects."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.integration.conftest import Api, code_of, served

SENTENCE = "The parcel never came, and all in the harbor asked why. "
CHUNK = SENTENCE * 26  # 1,500 characters, more tokens than the model reads
BLANK = " \n" * 2500 + "\u200b" * 3000  # longer than a passage


@pytest.fixture(scope="module")
def roomy() -> Iterator[Api]:
    """A service with the default limits."""
    with served(models="minilm") as (_, api):
        yield api


def test_a_text_of_ten_megabytes_exceeds_the_limit_of_bodies(roomy: Api) -> None:
    refused = roomy.post("/v1/embeddings", {"model": "minilm", "input": SENTENCE * (10_000_000 // len(SENTENCE))})
    assert code_of(refused) == (413, "body_too_large")


def test_a_thousand_long_texts_are_rejected_while_others_are_served(roomy: Api) -> None:
    body = {"model": "minilm", "input": [f"{i} {CHUNK}" for i in range(1024)]}
    refused = []
    sender = threading.Thread(target=lambda: refused.append(roomy.post("/v1/embeddings", body)))
    sender.start()
    served_meanwhile = 0
    while sender.is_alive():
        assert len(roomy.scores(("A cat.", "A dog."))) == 1
        served_meanwhile += 1
    sender.join()
    assert code_of(refused[0]) == (413, "too_many_tokens")
    assert "exceed the limit of 262,144" in refused[0].json()["message"]
    assert served_meanwhile > 1


def test_a_blank_passage_of_a_long_text_counts_for_nothing(roomy: Api) -> None:
    texts = [f"{CHUNK}{CHUNK}", f"{CHUNK}{BLANK}{CHUNK}"]
    answer = roomy.ok("/v1/embeddings", {"model": "minilm", "input": texts})
    assert answer["warnings"] == []
    [cosine] = roomy.scores((texts[0], texts[1]))
    assert cosine > 0.99
