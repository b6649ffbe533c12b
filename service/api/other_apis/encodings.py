"""Vectors as other APIs write them: floats, small integers, sign bits, base64."""

from __future__ import annotations

import base64
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Floats

EncodingFormat: TypeAlias = Literal["float", "base64"]
NumberType: TypeAlias = Literal["float", "int8", "uint8", "binary", "ubinary"]
EmbeddingType: TypeAlias = Literal["float", "int8", "uint8", "binary", "ubinary", "base64"]

SPREAD = 6  # the numbers of a unit vector are of size 1/sqrt(d); few are larger than six times that


def numbers_of(vectors: Floats, type_: NumberType) -> NDArray[Any]:
    """(n, d) vectors at unit length in numbers of a type, all vectors at the same scale.

    * `int8` is q = round(127 x / r), clipped to [-127, 127], with r = min(1, 6 / sqrt(d)): x is about r q / 127.
      `uint8` is q + 128.
    * `ubinary` has (n, ceil(d / 8)) bytes: 1 for each x > 0, the first number in the highest bit, filled up with zeros.
      `binary` is each byte less 128, as in Cohere's API and Voyage's, and in sentence-transformers.

    >>> vectors = np.array([[0.6, -0.8, 0.0], [0.0, 0.0, 0.0]], np.float32)
    >>> numbers_of(vectors, "int8").tolist(), numbers_of(vectors, "uint8").tolist()
    ([[76, -102, 0], [0, 0, 0]], [[204, 26, 128], [128, 128, 128]])
    >>> numbers_of(vectors, "ubinary").tolist(), numbers_of(vectors, "binary").tolist()
    ([[128], [0]], [[0], [-128]])
    """
    match type_:
        case "float":
            return vectors
        case "int8" | "uint8":
            largest = min(1.0, SPREAD / np.sqrt(vectors.shape[-1]))
            codes: NDArray[Any] = np.clip(np.rint(vectors * (127 / largest)), -127, 127)
            return codes.astype(np.int8) if type_ == "int8" else (codes + 128).astype(np.uint8)
        case "binary" | "ubinary":
            signs: NDArray[Any] = np.packbits(vectors > 0, axis=-1)
            return signs if type_ == "ubinary" else (signs.astype(np.int16) - 128).astype(np.int8)


def encoded(vectors: Floats, type_: EmbeddingType) -> list[Any]:
    """Each of (n, d) vectors as numbers of a type, or as base64 of its floats."""
    return [*map(base64_of, vectors)] if type_ == "base64" else [*numbers_of(vectors, type_)]


def base64_of(numbers: NDArray[Any]) -> str:
    """Numbers as base64 of little-endian bytes, row by row; floats as float32.

    >>> base64_of(np.array([1.0, -2.0])), base64_of(np.array([1, -2], np.int8))
    ('AACAPwAAAMA=', 'Af4=')
    """
    small = numbers.astype("<f4") if numbers.dtype.kind == "f" else numbers
    return base64.b64encode(small.tobytes()).decode()
