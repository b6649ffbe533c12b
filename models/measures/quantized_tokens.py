"""Token vectors in a quarter of the space: eight bits a number, one scale a token."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Floats, TokenEmbeddings, unit_rows
from semblance.models.measures.ragged import StackedTexts

_HEADER = struct.Struct("<4sII")  # mark, n, d
_MARK = b"STC1"


def encode_tokens(embeddings: TokenEmbeddings) -> tuple[bytes, float]:
    """The n token vectors and weights as bytes, and how far off a cosine with one of them can be.

    Each vector x (d,) becomes q = round(x / a) with a = max|x| / 127, and is read back as a q. With x' that and y any
    vector, |cos(x', y) - cos(x, y)| is at most the distance of x' and x at unit length; the largest over the tokens is
    the second value. A mean of best matches, as in RCMD, moves by no more than that.

    >>> tokens = TokenEmbeddings(np.array([[1.0, 0.5], [0.0, 2.0]], np.float32), np.ones(2, np.float32))
    >>> codes, error = encode_tokens(tokens)
    >>> decode_tokens(codes).vectors.round(2).tolist(), error < 0.01
    ([[1.0, 0.5], [0.0, 2.0]], True)
    """
    n, d = embeddings.vectors.shape
    scales = (np.abs(embeddings.vectors).max(axis=1) / 127).astype(np.float32)
    safe = np.where(scales > 0, scales, 1)[:, None]
    codes = np.rint(embeddings.vectors / safe).astype(np.int8)
    moved = np.linalg.norm(unit_rows(codes) - unit_rows(embeddings.vectors), axis=1)
    weights = embeddings.weights.astype(np.float32)
    return b"".join((_HEADER.pack(_MARK, n, d), scales.tobytes(), weights.tobytes(), codes.tobytes())), float(
        moved.max()
    )


def decode_tokens(codes: bytes) -> TokenEmbeddings:
    """Inverse of `encode_tokens`, within its error; the result does not know its text.

    Raises:
        ValueError: the bytes are not token codes.
    """
    return decode_many([codes])[0]


def decode_many(codes: Sequence[bytes]) -> StackedTexts:
    """What `decode_tokens` makes of each. Small pieces of memory for each would cost more than what is done in them.

    Raises:
        ValueError: some bytes are not token codes, or of vectors of another length.
    """
    parts = [_parts(each) for each in codes]
    dims = {values.shape[1] for *_, values in parts}
    if len(dims) > 1:
        raise ValueError(f"token codes of vectors of several lengths: {sorted(dims)}")
    vectors = np.empty((sum(len(values) for *_, values in parts), max(dims, default=0)), np.float32)
    texts: list[TokenEmbeddings] = []
    start = 0
    for scales, weights, values in parts:
        rows = vectors[start : start + len(values)]
        rows[:] = values
        rows *= scales[:, None]
        texts.append(TokenEmbeddings(vectors=rows, weights=weights))
        start += len(values)
    return StackedTexts(vectors, texts)


def _parts(codes: bytes) -> tuple[Floats, Floats, NDArray[np.int8]]:
    """(n,) scales, (n,) weights and (n, d) values, none of them copied."""
    if len(codes) < _HEADER.size or not codes.startswith(_MARK):
        raise ValueError("these bytes are not token codes")
    _, n, d = _HEADER.unpack_from(codes)
    if len(codes) != _HEADER.size + 8 * n + n * d:
        raise ValueError(f"token codes for {n} tokens of {d} numbers have another length than {len(codes)} bytes")
    floats = np.frombuffer(codes, np.float32, 2 * n, _HEADER.size)
    values = np.frombuffer(codes, np.int8, n * d, _HEADER.size + 8 * n).reshape(n, d)
    return floats[:n], floats[n:], values
