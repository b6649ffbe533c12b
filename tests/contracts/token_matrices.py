"""Hypothesis strategies for token embeddings of any shape, with or without special tokens."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from models.embeddings import Floats, TokenEmbeddings
from models.text import TokenizedText

FINITE = st.floats(-4, 4, width=32).map(lambda x: 0.0 if abs(x) < 1e-3 else x)


def embeddings_of(vectors: Floats, special: list[bool] | None = None, weights: Floats | None = None) -> TokenEmbeddings:
    """Embeddings of a made-up text "t0 t1 t2 ..." whose tokens have these vectors."""
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


@st.composite
def token_embeddings(draw: st.DrawFn, dim: int = 4, max_tokens: int = 7) -> TokenEmbeddings:
    """Any text of 1 to `max_tokens` tokens; zero vectors, equal vectors and special tokens among them."""
    n = draw(st.integers(1, max_tokens))
    vectors = draw(npst.arrays(np.float32, (n, dim), elements=FINITE))
    special = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    weights = draw(npst.arrays(np.float32, n, elements=st.floats(0.125, 4, width=32)))
    return embeddings_of(vectors, special, weights)
