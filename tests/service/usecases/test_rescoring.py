"""Candidates are scored in few chunks of bounded size."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from semblance.models.catalogue import similarity
from semblance.service.ports.documents import CollectionSettings, TokenStorage
from semblance.service.usecases.search.rescoring import CHUNK, CHUNK_TOKENS, PassageScorer
from tests.support.random_encoder import RandomEncoder


def scorer(max_tokens: int, passage_tokens: int | None = None, *, coded: bool = True) -> PassageScorer:
    encoder = RandomEncoder("m", "s", 8)
    encoder.max_tokens = max_tokens
    stored: TokenStorage = "int8" if coded else "none"
    settings = CollectionSettings("m", "s", 8, "cosine", "exact", stored, passage_tokens)
    unused = cast("Any", None)
    collection = cast("Any", SimpleNamespace(settings=settings))
    return PassageScorer(unused, unused, collection, encoder, similarity("rcmd"))


@pytest.mark.parametrize(
    ("max_tokens", "passage_tokens", "count", "size"),
    [
        (256, None, 10, CHUNK),  # not divided: each part takes a query and a thread
        (256, None, 100, 50),  # divided by the threads
        (256, None, 1000, CHUNK_TOKENS // 256),
        (8192, None, 1000, CHUNK),  # long texts are no reason for more and more chunks
        (8192, 128, 1000, CHUNK_TOKENS // 128),  # of passages, their length counts
        (64, 128, 1000, CHUNK_TOKENS // 64),
    ],
)
def test_chunks_of_token_codes_are_few(max_tokens: int, passage_tokens: int | None, count: int, size: int) -> None:
    assert scorer(max_tokens, passage_tokens)._chunk_size(count) == size


def test_texts_are_encoded_a_few_at_a_time() -> None:
    """A call of more tokens might be refused by the limit of a request."""
    assert scorer(64, coded=False)._chunk_size(1000) == CHUNK
