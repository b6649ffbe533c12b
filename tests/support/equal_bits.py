"""Whether vectors depend, in any bit, on the batch and on what runs beside it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from semblance.models.embeddings import Integers, TokenEmbeddings
from semblance.models.encoders.transformer import Transformer
from semblance.models.text import Booleans, TokenizedText

LARGEST = 64  # texts in a batch
MOST_WORDS = 250
THREADS = 3  # that encode at the same time: more than one makes OpenVINO take a request of one core


def texts_of_all_lengths(encoder: Transformer, sentences: Sequence[str], count: int, seed: int) -> list[TokenizedText]:
    """Sentences in a row, cut after 1 to MOST_WORDS words: half of the texts have fewer than 16."""
    rng = np.random.default_rng(seed)
    words = " ".join(sentences).split()
    sizes = np.exp(rng.uniform(0, np.log(MOST_WORDS), count)).astype(int)
    starts = rng.integers(0, len(words) - MOST_WORDS, count)
    cut = [" ".join(words[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    return encoder.tokenize(cut, "query", "END")


def equal_in_batches(encoder: Transformer, texts: Sequence[TokenizedText], seed: int) -> Booleans:
    """Whether each text has the same bits alone and in random batches, by one thread and by several."""
    rng = np.random.default_rng(seed)
    alone = [encoder.encode([text], "tokens")[0] for text in texts]
    equal = np.ones(len(texts), np.bool_)
    singly = list(np.arange(len(texts))[:, None])
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(THREADS) as several:
        runs = ((one, _batches(rng, len(texts))), (several, _batches(rng, len(texts))), (several, singly))
        for pool, batches in runs:
            encoded = pool.map(partial(_encode, encoder, texts), batches)
            for batch, vectors in zip(batches, encoded, strict=True):
                equal[batch] &= [_same(alone[i], each) for i, each in zip(batch, vectors, strict=True)]
    return equal


def _batches(rng: np.random.Generator, count: int) -> list[Integers]:
    """Places of all texts in random order, in batches of 2 to LARGEST."""
    ends = np.cumsum(rng.integers(2, LARGEST + 1, count))
    return [each for each in np.split(rng.permutation(count), ends) if len(each)]


def _encode(encoder: Transformer, texts: Sequence[TokenizedText], batch: Integers) -> list[TokenEmbeddings]:
    return encoder.encode([texts[i] for i in batch], "tokens")


def _same(one: TokenEmbeddings, other: TokenEmbeddings) -> bool:
    return one.vectors.tobytes() == other.vectors.tobytes() and one.pooled().tobytes() == other.pooled().tobytes()
