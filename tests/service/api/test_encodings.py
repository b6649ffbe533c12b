"""Types in which other APIs encode vectors."""

from __future__ import annotations

import base64
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import Floats, unit_rows
from semblance.service.api.other_apis.encodings import EmbeddingType, NumberType, base64_of, encoded, numbers_of

RANGES = {"int8": (-127, 127), "uint8": (1, 255), "binary": (-128, 127), "ubinary": (0, 255)}


def unit_vectors(seed: int, count: int, dim: int) -> Floats:
    vectors: Floats = unit_rows(np.random.default_rng(seed).standard_normal((count, dim))).astype(np.float32)
    return vectors


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 100))
def test_every_type_has_its_range_and_length(seed: int, count: int, dim: int) -> None:
    vectors = unit_vectors(seed, count, dim)
    for type_, (low, high) in RANGES.items():
        numbers = numbers_of(vectors, type_)  # type: ignore[arg-type]
        assert numbers.dtype == (np.uint8 if type_.startswith("u") else np.int8)
        assert numbers.shape == (count, -(-dim // 8) if type_.endswith("binary") else dim)
        assert low <= numbers.min() <= numbers.max() <= high


def test_signs_equal_those_of_sentence_transformers() -> None:
    from sentence_transformers.util import quantize_embeddings

    vectors = unit_vectors(1, 20, 384)
    for type_ in ("binary", "ubinary"):
        assert np.array_equal(numbers_of(vectors, type_), quantize_embeddings(vectors, type_))


@given(st.integers(0, 2**32), st.integers(1, 100))
def test_signs_are_read_from_the_highest_bit(seed: int, dim: int) -> None:
    [vector] = unit_vectors(seed, 1, dim)
    [code] = numbers_of(vector[None], "ubinary")
    bits = [int(code[i // 8]) >> (7 - i % 8) & 1 for i in range(8 * len(code))]
    assert bits == [*(int(x > 0) for x in vector), *[0] * (len(bits) - dim)]
    assert numbers_of(vector[None], "binary").tolist() == [(code.astype(int) - 128).tolist()]


@pytest.mark.parametrize("dim", [8, 64, 384, 1024])
def test_scaled_integers_keep_dot_products(dim: int) -> None:
    vectors = unit_vectors(2, 200, dim)
    largest = min(1, 6 / np.sqrt(dim))
    codes = numbers_of(vectors, "int8").astype(np.float64) * (largest / 127)
    assert np.abs(codes - vectors).max() <= 0.5001 * largest / 127, "none of them is clipped"
    products = vectors.astype(np.float64) @ vectors.T
    error = float(np.sqrt(np.mean((codes @ codes.T - products) ** 2)))
    print(f"{dim} dimensions: error of a dot product {error:.1e}")
    assert error < 0.5 * largest / 127
    assert np.array_equal(numbers_of(vectors, "uint8"), numbers_of(vectors, "int8").astype(np.int16) + 128)


def test_large_numbers_are_clipped_and_zeros_stay() -> None:
    vectors = np.zeros((3, 384), np.float32)
    vectors[0, 0], vectors[1, 0] = 1, -1
    assert [row[0] for row in numbers_of(vectors, "int8")] == [127, -127, 0]
    zero = {type_: numbers_of(vectors[2:], type_) for type_ in get_args(NumberType)}
    assert {type_: set(numbers.ravel().tolist()) for type_, numbers in zero.items()} == {
        "float": {0.0},
        "int8": {0},
        "uint8": {128},
        "binary": {-128},
        "ubinary": {0},
    }


def test_base64_holds_the_bytes_of_each_type() -> None:
    vectors = unit_vectors(3, 3, 20)
    for type_, dtype in {"float": "<f4", "int8": "i1", "uint8": "u1", "binary": "i1", "ubinary": "u1"}.items():
        numbers = numbers_of(vectors, type_)  # type: ignore[arg-type]
        decoded = [np.frombuffer(base64.b64decode(base64_of(row)), dtype) for row in numbers]
        assert np.array_equal(np.array(decoded), numbers)
    assert encoded(vectors, "base64") == [base64_of(row) for row in vectors]
    assert {len(encoded(vectors, type_)) for type_ in get_args(EmbeddingType)} == {3}
