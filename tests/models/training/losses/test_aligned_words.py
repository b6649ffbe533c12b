"""The loss of aligned words equals its formula, written as loops over the served encoder's vectors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from semblance.models.evaluation.tasks import WordAlignedPair
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.source import Source
from semblance.models.training.losses.aligned_words import AlignedWords
from semblance.models.training.recipes.clrcmd import Clrcmd
from semblance.models.training.sentence_model import build_model
from tests.support.small_model import load

WORDS = ("the", "storm", "can't", "unbelievably", "stop", ",", "Zürich", "near", "antidisestablishmentarianism")


@pytest.fixture(scope="module")
def model(small: Path) -> SentenceTransformer:
    return build_model(read_transformer(Source(small)), Clrcmd()).eval()


def aligned(model: SentenceTransformer, max_tokens: int = 128, temperature: float = 0.1) -> AlignedWords:
    return AlignedWords(model, [], 2.0, 4, max_tokens, temperature)


@st.composite
def word_pairs(draw: st.DrawFn) -> WordAlignedPair:
    left, right = (tuple(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))) for _ in range(2))
    cells = [(i, j) for i in range(len(left)) for j in range(len(right))]
    links = draw(st.dictionaries(st.sampled_from(cells), st.booleans(), max_size=5))
    sure, possible = (frozenset(link for link, kind in links.items() if kind is wanted) for wanted in (True, False))
    return WordAlignedPair("drawn", left, right, sure, possible)


@given(pairs=st.lists(word_pairs(), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_the_loss_equals_its_formula(pairs: list[WordAlignedPair], small: Path, model: SentenceTransformer) -> None:
    losses = []
    for pair in pairs:
        x, y = (word_vectors(small, words) for words in (pair.left, pair.right))
        logits = x @ y.T / 0.1
        losses += of_words(logits, pair.sure, pair.possible)
        losses += of_words(logits.T, flipped(pair.sure), flipped(pair.possible))
    expected = 2 * sum(losses) / max(1, len(losses))
    assert aligned(model).of(pairs).item() == pytest.approx(expected, abs=1e-4)


def of_words(logits: np.ndarray, sure: frozenset[tuple[int, int]], possible: frozenset[tuple[int, int]]) -> list[float]:
    """The loss of each word with a sure link: minus the logarithm of a share of exponentials."""
    losses = []
    for i, row in enumerate(logits):
        weights = {j: math.exp(value) for j, value in enumerate(row) if (i, j) not in possible}
        if right := sum(weight for j, weight in weights.items() if (i, j) in sure):
            losses.append(-math.log(right / sum(weights.values())))
    return losses


def flipped(links: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    return frozenset((j, i) for i, j in links)


def word_vectors(small: Path, words: tuple[str, ...]) -> np.ndarray:
    """Unit vectors of words: means of their tokens, found by the encoder's own spans."""
    encoder = load(small)
    text = encoder.tokenize([" ".join(words)], "query", "END")
    [encoded] = encoder.encode(text, "tokens")
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])
    rows = []
    for k in range(len(words)):
        inside = [
            vector
            for (start, end), vector in zip(text[0].spans.tolist(), encoded.vectors, strict=True)
            if end > start and starts[k] <= start < starts[k + 1]
        ]
        mean = np.mean(inside, axis=0)
        rows.append(mean / np.linalg.norm(mean))
    return np.stack(rows)


def test_words_beyond_the_longest_input_do_not_count(model: SentenceTransformer) -> None:
    words = ("the", "storm", "stop", "near")
    links = frozenset((k, k) for k in range(4))
    whole = WordAlignedPair("whole", words, words, links, frozenset())
    short = WordAlignedPair("short", words[:2], words[:2], frozenset({(0, 0), (1, 1)}), frozenset())
    cut = aligned(model, max_tokens=4).of([whole]).item()  # [CLS] the storm [SEP]
    assert cut == pytest.approx(aligned(model).of([short]).item(), abs=1e-5)
