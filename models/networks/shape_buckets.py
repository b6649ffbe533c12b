"""How the texts of a pass are laid out: one after another, and in a grid for attention, each of one of few sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from semblance.models.embeddings import Integers
from semblance.models.runtime import NetworkFacts
from semblance.models.text import Booleans, Ints

TOKENS = (*range(8, 64, 8), *range(64, 256, 16), *range(256, 1024, 64), *range(1024, 4097, 256))
WIDTHS = (*range(8, 64, 8), *range(64, 128, 16), *range(128, 513, 32))
TEXTS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128)


class LaidOut(NamedTuple):
    """The input of a pass over T tokens, of which some at the end may belong to no text; see `Grid` for the last three.

    Attributes:
        ids: (T,).
        positions: (T,) the place of each in its text.
        tokens: (b, l).
        real: (b, l); no row is without a token.
        places: (T,).
    """

    ids: Integers
    positions: Integers
    tokens: Integers
    real: Booleans
    places: Integers


def laid_out(texts: Sequence[Ints], facts: NetworkFacts) -> LaidOut:
    """The tokens of these texts, filled up to one of few sizes.

    >>> facts = NetworkFacts(dim=1, max_tokens=512, pad_id=0, first_position=0, tokenizer="")
    >>> laid = laid_out([np.array([5, 6, 7], np.int32), np.array([8], np.int32)], facts)
    >>> laid.ids.tolist(), laid.positions.tolist(), laid.places.tolist()
    ([5, 6, 7, 8, 0, 0, 0, 0], [0, 1, 2, 0, 0, 0, 0, 0], [0, 1, 2, 8, 0, 0, 0, 0])
    >>> laid.tokens[laid.real].tolist()
    [0, 1, 2, 3]
    """
    lengths = np.array([len(text) for text in texts])
    count, longest = int(lengths.sum()), int(lengths.max())
    rows, width = at_least(len(texts), TEXTS), at_least(longest, WIDTHS)
    real = np.arange(width) < np.concatenate((lengths, np.ones(rows - len(texts), np.int64)))[:, None]
    filled = at_least(count, TOKENS)
    ids, positions = np.full(filled, facts.pad_id, np.int64), np.full(filled, facts.first_position, np.int64)
    tokens, places = np.zeros((rows, width), np.int64), np.zeros(filled, np.int64)
    of_texts = real[: len(texts)]
    ids[:count] = np.concatenate(texts)
    places[:count] = np.flatnonzero(of_texts)
    positions[:count] += places[:count] % width
    tokens[: len(texts)][of_texts] = np.arange(count)
    return LaidOut(ids, positions, tokens, real, places)


def at_least(size: int, sizes: Sequence[int]) -> int:
    """The least of the ascending `sizes` that is enough; beyond them, as `rounded_up`."""
    return next((each for each in sizes if each >= size), rounded_up(size))


def rounded_up(size: int) -> int:
    """The least that is enough of the few sizes of which there are four up to each power of two.

    >>> [rounded_up(size) for size in (3, 33, 41, 64, 65, 1100)]
    [3, 40, 48, 64, 80, 1280]
    """
    step = max(1, (1 << (size - 1).bit_length()) // 8)
    return -(-size // step) * step
