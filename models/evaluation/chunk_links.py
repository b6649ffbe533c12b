"""From the parts of a score to aligned chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.tasks import ChunkedPair, ChunkLink

Span = tuple[int, int]


def chunk_links(
    parts: Doubles, left_spans: Sequence[Span], right_spans: Sequence[Span], pair: ChunkedPair
) -> list[ChunkLink]:
    """The chunks that belong together most, by the parts of a score between tokens.

    The texts that were compared must be the words of the pair joined by one space. A token belongs to a chunk if its
    characters overlap with those of one of the chunk's words. Between two chunks stands the mean of the parts of all
    their pairs of tokens; two chunks are linked if this is the largest of its row and of its column. Exact ties keep
    all, there is no threshold, and every link is EQUI with score 5. A chunk without a token is not linked.

    Args:
        parts: (n, m) what each pair of tokens adds to the score (`Explanation.contribution`); no special tokens.
        left_spans: n first and one-past-last characters of the left tokens; empty spans belong nowhere.
        right_spans: m of the right tokens.
        pair: words and chunks of either side.

    Source: lee-etal-2022-clrcmd, section 5.3; the overlap of characters as the paper says, where its code aligns
    the characters of tokens and chunks by edit distance.
    """
    rows = _members(left_spans, pair.left, pair.left_chunks)
    columns = _members(right_spans, pair.right, pair.right_chunks)
    pooled = pooled_parts(parts, rows, columns)
    if not pooled.size:
        return []
    largest = (pooled == pooled.max(axis=1, keepdims=True)) & (pooled == pooled.max(axis=0)) & np.isfinite(pooled)
    return [
        ChunkLink(pair.left_chunks[i], pair.right_chunks[j], frozenset({"EQUI"}), 5.0)
        for i, j in np.argwhere(largest).tolist()
    ]


def pooled_parts(parts: Doubles, rows: Doubles, columns: Doubles) -> Doubles:
    """(chunks left, chunks right) mean parts; -inf where a chunk has no token.

    Args:
        parts: (n, m) the parts between tokens.
        rows: (chunks left, n) 1 where a token belongs to a chunk, else 0.
        columns: (chunks right, m) the same of the right.

    >>> pooled_parts(np.array([[0.2, 0.0], [0.0, 0.1]]), np.array([[1.0, 1.0]]), np.eye(2))
    array([[0.1 , 0.05]])
    """
    sums = rows @ parts @ columns.T
    sizes = np.outer(rows.sum(axis=1), columns.sum(axis=1))
    pooled: Doubles = np.divide(sums, sizes, out=np.full_like(sums, -np.inf), where=sizes > 0)
    return pooled


def _members(spans: Sequence[Span], words: Sequence[str], chunks: Sequence[Sequence[int]]) -> Doubles:
    """(chunks, tokens) 1 where the characters of a token overlap with those of a word of the chunk."""
    ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64) - 1
    starts = ends - [len(word) for word in words]
    tokens = np.array(spans, np.int64).reshape(-1, 2)
    overlap = (tokens[:, :1] < ends) & (tokens[:, 1:] > starts) & (tokens[:, :1] < tokens[:, 1:])
    return np.array([overlap[:, [word - 1 for word in chunk]].any(axis=1) for chunk in chunks], np.float64).reshape(
        len(chunks), len(tokens)
    )
