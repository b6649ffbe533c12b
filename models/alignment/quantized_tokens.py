"""Token codes: token vectors quantized to int8, a quarter of the memory of float32."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from semblance.models.alignment.ragged import RaggedTexts
from semblance.models.embeddings import Floats, TokenEmbeddings, unit_rows

_HEADER = struct.Struct("<4sII")  # mark, n, d
_MARK = b"STC1"


def quantize(embeddings: TokenEmbeddings) -> tuple[bytes, float]:
    """Quantize n token vectors and weights to bytes; also return the largest error of a cosine.

    Each vector x (d,) becomes q = round(x / a) with a = max|x| / 127, and is read as x' = a q. For any vector y,
    |cos(x', y) - cos(x, y)| is at most the distance of x' and x at unit length; the second value is the largest such
    distance over the tokens. It also bounds the error of a mean of best matches, as in RCMD.

    The sign of a marks special tokens, if the text is known: below 0 for these, of which the codes are negated, too.

    >>> tokens = TokenEmbeddings(np.array([[1.0, 0.5], [0.0, 2.0]], np.float32), np.ones(2, np.float32))
    >>> codes, error = quantize(tokens)
    >>> dequantize(codes).vectors.round(2).tolist(), error < 0.01
    ([[1.0, 0.5], [0.0, 2.0]], True)
    """
    n, d = embeddings.vectors.shape
    scales = (np.abs(embeddings.vectors).max(axis=1) / 127).astype(np.float32)
    safe = np.where(scales > 0, scales, 1)[:, None]
    codes = np.rint(embeddings.vectors / safe).astype(np.int8)
    errors = np.linalg.norm(unit_rows(codes) - unit_rows(embeddings.vectors), axis=1)
    if embeddings.text is not None:
        special = embeddings.text.special
        scales[special] *= -1
        codes[special] *= -1
    weights = embeddings.weights.astype(np.float32)
    parts = (_HEADER.pack(_MARK, n, d), scales.tobytes(), weights.tobytes(), codes.tobytes())
    return b"".join(parts), float(errors.max())


def dequantize(codes: bytes) -> TokenEmbeddings:
    """Inverse of `quantize`, within its error; the result has no text, but the marks.

    Raises:
        ValueError: the bytes are not token codes.
    """
    return dequantize_many([codes])[0]


def dequantize_many(codes: Sequence[bytes]) -> RaggedTexts:
    """Apply `dequantize` to each, in one allocation, which is faster than many small ones.

    Raises:
        ValueError: some bytes are not token codes, or of vectors of another length.
    """
    parts = [_parts(code) for code in codes]
    dims = {values.shape[1] for *_, values in parts}
    if len(dims) > 1:
        raise ValueError(f"token codes of several dimensions: {sorted(dims)}")
    vectors = np.empty((sum(len(values) for *_, values in parts), max(dims, default=0)), np.float32)
    texts: list[TokenEmbeddings] = []
    start = 0
    for scales, weights, values in parts:
        rows = vectors[start : start + len(values)]
        rows[:] = values
        rows *= scales[:, None]
        special = np.signbit(scales)
        texts.append(TokenEmbeddings(vectors=rows, weights=weights, special=special if special.any() else None))
        start += len(values)
    return RaggedTexts(vectors, texts)


def is_codes(codes: bytes, dim: int, n: int | None = None) -> bool:
    """Whether bytes are token codes of vectors of length `dim`, and of n tokens if n is given."""
    try:
        shape = _parts(codes)[2].shape
    except ValueError:
        return False
    return shape == (shape[0] if n is None else n, dim)


def _parts(codes: bytes) -> tuple[Floats, Floats, NDArray[np.int8]]:
    """Views of (n,) scales, (n,) weights and (n, d) values."""
    if len(codes) < _HEADER.size or not codes.startswith(_MARK):
        raise ValueError("these bytes are no token codes")
    _, n, d = _HEADER.unpack_from(codes)
    if len(codes) != _HEADER.size + 8 * n + n * d:
        raise ValueError(f"token codes are truncated: {len(codes)} bytes for {n} tokens of {d} dimensions")
    floats = np.frombuffer(codes, np.float32, 2 * n, _HEADER.size)
    if not np.isfinite(floats).all():
        raise ValueError("token codes have a scale or weight that is not finite")
    values = np.frombuffer(codes, np.int8, n * d, _HEADER.size + 8 * n).reshape(n, d)
    return floats[:n], floats[n:], values
