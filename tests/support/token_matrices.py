"""Hypothesis strategies for token embeddings, with and without special tokens."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from semblance.models.embeddings import Floats, TokenEmbeddings
from semblance.models.text import TokenizedText


def embeddings_of(vectors: Floats, special: list[bool] | None = None, weights: Floats | None = None) -> TokenEmbeddings:
    """Embeddings with these token vectors, of an artificial text "t0 t1 t2 ..."."""
    n = len(vectors)
    special = special or [False] * n
    starts = np.cumsum([0, *[len(f"t{i} ") for i in range(n)]])
    spans = [(0, 0) if special[i] else (starts[i], starts[i + 1] - 1) for i in range(n)]
    text = TokenizedText(
        text="".join(f"t{i} " for i in range(n)),
        ids=np.arange(n, dtype=np.int32),
        spans=np.array(spans, np.int32).reshape(-1, 2),
        words=np.array([-1 if special[i] else i // 2 for i in range(n)], np.int32),  # two tokens a word
    )
    weights = np.ones(n, np.float32) if weights is None else weights
    return TokenEmbeddings(np.asarray(vectors, np.float32), weights, text)


def bytes_of(draw: st.DrawFn, rows: int, columns: int) -> NDArray[np.uint8]:
    """(rows, columns) arbitrary bytes in one draw, which is faster than a draw per number."""
    size = rows * columns
    return np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8).reshape(rows, columns)


@st.composite
def token_embeddings(draw: st.DrawFn, dim: int = 4, max_tokens: int = 7) -> TokenEmbeddings:
    """A text of 1 to `max_tokens` tokens, with zero vectors, equal vectors and special tokens.

    Numbers are in about [-4, 4], weights in [0.125, 4].
    """
    drawn = bytes_of(draw, draw(st.integers(1, max_tokens)), dim + 2)
    kinds, weights, numbers = drawn[:, 0], drawn[:, 1], drawn[:, 2:].view(np.int8)
    vectors = (numbers * (4 / 127)).astype(np.float32)
    vectors[kinds % 8 == 6] = 0
    vectors[kinds % 8 == 7] = vectors[0]
    special = [bool(kind & 8) for kind in kinds]
    return embeddings_of(vectors, special, (0.125 + weights * (3.875 / 255)).astype(np.float32))
