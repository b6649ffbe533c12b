"""Models that cost next to nothing, so that a few cores carry a whole deployment; and sentences of their words."""

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
    """Random vectors of all words, in the form that SEMBLANCE_MODELS may name."""
    vectors = np.random.default_rng(seed).normal(size=(len(WORDS), dim)).astype(np.float32)
    np.savez(file, vectors=vectors, words=np.array(WORDS))
    return file


def sentence(chance: random.Random) -> str:
    """Some words."""
    return " ".join(chance.choices(WORDS, k=chance.randint(3, 9)))
