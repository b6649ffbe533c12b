"""Round batch shapes up to few sizes, and pack texts as inputs of an exported graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from semblance.models.embeddings import Integers
from semblance.models.runtime import NetworkFacts
from semblance.models.text import Booleans, Ints

TOKENS = (*range(8, 64, 8), *range(64, 256, 16), *range(256, 1024, 64), *range(1024, 4097, 256))
# multiples of 16, the numbers in a register: at another width, softmax sums the same numbers in another order
WIDTHS = (*range(16, 128, 16), *range(128, 513, 32))
TEXTS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128)


class GraphInputs(NamedTuple):
    """Inputs of an exported graph: T packed tokens, padded at the end, and their `TokenGrid`.

    Attributes:
        ids: (T,).
        positions: (T,) the position of each token in its text.
        tokens: (b, l).
        real: (b, l); every row holds at least one token.
        places: (T,).
    """

    ids: Integers
    positions: Integers
    tokens: Integers
    real: Booleans
    places: Integers


def graph_inputs(texts: Sequence[Ints], facts: NetworkFacts, types: Sequence[Ints] | None = None) -> GraphInputs:
    """Pack these texts, or pairs with the types of tokens, padded to the next sizes.

    >>> facts = NetworkFacts(dim=1, max_tokens=512, pad_id=0, first_position=0, tokenizer="")
    >>> inputs = graph_inputs([np.array([5, 6, 7], np.int32), np.array([8], np.int32)], facts)
    >>> inputs.ids.tolist(), inputs.positions.tolist(), inputs.places.tolist()
    ([5, 6, 7, 8, 0, 0, 0, 0], [0, 1, 2, 0, 0, 0, 0, 0], [0, 1, 2, 16, 0, 0, 0, 0])
    >>> inputs.tokens[inputs.real].tolist()
    [0, 1, 2, 3]
    """
    lengths = np.array([len(text) for text in texts])
    count, longest = int(lengths.sum()), int(lengths.max())
    rows, width = next_size(len(texts), TEXTS), next_size(longest, WIDTHS)
    # a row without a token would have nothing to attend to, which gives NaN: surplus rows hold one
    real = np.arange(width) < np.concatenate((lengths, np.ones(rows - len(texts), np.int64)))[:, None]
    padded = next_size(count, TOKENS)
    ids, positions = np.full(padded, facts.pad_id, np.int64), np.full(padded, facts.first_position, np.int64)
    tokens, places = np.zeros((rows, width), np.int64), np.zeros(padded, np.int64)
    of_texts = real[: len(texts)]
    ids[:count] = np.concatenate(texts)
    places[:count] = np.flatnonzero(of_texts)
    positions[:count] += places[:count] % width
    if types is not None:
        positions[:count] += facts.type_rows * np.concatenate(types)
    tokens[: len(texts)][of_texts] = np.arange(count)
    return GraphInputs(ids, positions, tokens, real, places)


def next_size(size: int, sizes: Sequence[int]) -> int:
    """The smallest of ascending `sizes` that is not below `size`; beyond them, `round_up`."""
    return next((each for each in sizes if each >= size), round_up(size))


def round_up(size: int) -> int:
    """Round up to one of four sizes per power of two.

    >>> [round_up(size) for size in (3, 33, 41, 64, 65, 1100)]
    [3, 40, 48, 64, 80, 1280]
    """
    step = max(1, (1 << (size - 1).bit_length()) // 8)
    return -(-size // step) * step
