"""Word-vector models that cost next to nothing, and random sentences of their words."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

DIM = 16
WORDS = [
    f"{first}{last}"
    for first in ("bra", "kel", "mo", "si", "tur", "va", "wen", "zo")
    for last in ("d", "la", "n", "ri", "sk", "x")
]


def write_model(file: Path, seed: int, dim: int = DIM) -> Path:
    """Write random vectors of all words as a file that SEMBLANCE_MODELS accepts."""
    vectors = np.random.default_rng(seed).normal(size=(len(WORDS), dim)).astype(np.float32)
    np.savez(file, vectors=vectors, words=np.array(WORDS))
    return file


def sentence(rng: random.Random) -> str:
    """A random sentence of 3 to 9 words."""
    return " ".join(rng.choices(WORDS, k=rng.randint(3, 9)))
