"""Pooling against worked numbers; padding and the order of token vectors must not change it."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.runtime import Pooling, pool_batch
from tests.support.token_matrices import token_embeddings

# reimers-gurevych-2019-sbert, section 3, worked out by hand for these tokens; the last one is padding
TOKENS, REAL = [[1.0, 2.0], [3.0, 0.0], [5.0, 4.0], [9.0, 9.0]], [1, 1, 1, 0]
POOLED = {"mean": [3.0, 2.0], "max": [5.0, 4.0], "cls": [1.0, 2.0], "words": [3.0, 2.0]}


@pytest.fixture(params=get_args(Pooling))
def pooling(request: pytest.FixtureRequest) -> Pooling:
    return cast("Pooling", request.param)


def pooled(pooling: Pooling, tokens: list[list[float]], real: list[int]) -> list[float]:
    weights = np.ones(sum(real), np.float32)
    output = pool_batch(np.array(tokens, np.float32), [sum(real)], [weights], pooling, "pooled")
    vector: list[float] = output.pooled[0].tolist()
    return vector


def test_worked_numbers(pooling: Pooling) -> None:
    assert pooled(pooling, TOKENS, REAL) == POOLED[pooling]


def test_more_padding_changes_nothing(pooling: Pooling) -> None:
    assert pooled(pooling, [*TOKENS, [-99.0, 99.0], [7.0, 7.0]], [*REAL, 0, 0]) == pooled(pooling, TOKENS, REAL)


def test_only_cls_pooling_depends_on_the_order_of_tokens(pooling: Pooling) -> None:
    turned = pooled(pooling, [TOKENS[2], TOKENS[0], TOKENS[1], TOKENS[3]], REAL)
    assert (turned == pooled(pooling, TOKENS, REAL)) == (pooling != "cls")


def test_the_weighted_mean_equals_the_worked_numbers() -> None:
    assert TokenEmbeddings(np.array(TOKENS, np.float32), np.array(REAL, np.float32)).pooled().tolist() == POOLED["mean"]


@given(a=token_embeddings(), seed=st.integers(0, 100))
def test_the_weighted_mean_is_independent_of_order(a: TokenEmbeddings, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(a))
    moved = TokenEmbeddings(a.vectors[order], a.weights[order])
    assert moved.pooled() == pytest.approx(a.pooled(), abs=1e-5)
