"""Pooling against worked numbers, which padding must not change."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.runtime import Pooling, pool_batch

# reimers-gurevych-2019-sbert, section 3, worked out by hand for these tokens; the last one is padding
TOKENS, REAL = [[1.0, 2.0], [3.0, 0.0], [5.0, 4.0], [9.0, 9.0]], [1, 1, 1, 0]
POOLED = {"mean": [3.0, 2.0], "max": [5.0, 4.0], "cls": [1.0, 2.0], "words": [3.0, 2.0]}


@pytest.mark.parametrize("padding", [[], [[-99.0, 99.0], [7.0, 7.0]]])
@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_worked_numbers_under_any_padding(pooling: Pooling, padding: list[list[float]]) -> None:
    tokens = np.array([*TOKENS, *padding], np.float32)
    output = pool_batch(tokens, [sum(REAL)], [np.ones(sum(REAL), np.float32)], pooling, "pooled")
    assert output.pooled[0].tolist() == POOLED[pooling]


def test_the_weighted_mean_equals_the_worked_numbers() -> None:
    assert TokenEmbeddings(np.array(TOKENS, np.float32), np.array(REAL, np.float32)).pooled().tolist() == POOLED["mean"]
