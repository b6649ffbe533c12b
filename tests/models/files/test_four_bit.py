"""Numbers of four bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from semblance.models.embeddings import Floats
from semblance.models.files.four_bit import FourBit
from tests.support.four_bit_folder import blocks_of


@given(arrays(np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 3), st.just(16))), st.floats(-8, 8, width=16))
def test_numbers_are_half_bytes_less_8_times_the_scale(halves: np.ndarray, scale: float) -> None:
    scales = np.full((*halves.shape[:2], 1), scale, np.float16)
    found = FourBit.of(np.concatenate([scales.view(np.uint8), halves], axis=2)).numbers()
    for row, block, byte in np.ndindex(halves.shape):
        low, high = int(halves[row, block, byte]) % 16, int(halves[row, block, byte]) // 16
        assert found[row, 32 * block + byte] == pytest.approx(scale * (low - 8))
        assert found[row, 32 * block + byte + 16] == pytest.approx(scale * (high - 8))


@given(arrays(np.float32, (2, 64), elements=st.floats(-1, 1, width=16)))
def test_a_matrix_is_restored_within_half_a_step(matrix: Floats) -> None:
    steps = np.abs(matrix.reshape(2, 2, 32)).max(axis=2).repeat(32, axis=1) / 7
    assert (np.abs(FourBit.of(blocks_of(matrix)).numbers() - matrix) <= 0.51 * steps + 1e-3).all()
