"""The losses of kept vectors and aligned words equal their formulas over the vectors of served encoders."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peft.tuners.lora import LoraLayer
from sentence_transformers import SentenceTransformer

from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.source import Source
from semblance_lab.evaluation.tasks import WordAlignedPair
from semblance_lab.training.losses.drawn_texts import AlignedWords, KeptVectors
from semblance_lab.training.recipe import LowRank
from semblance_lab.training.recipes.clrcmd import Clrcmd
from semblance_lab.training.sentence_model import build_model, merge_adapters
from tests.support.small_model import load

loaded = cache(load)

TEXTS = ["the dog runs near the river", "a storm", "the ship waits near the bridge today"]


def tuned_model(small: Path) -> SentenceTransformer:
    """The network with random adapters."""
    torch.manual_seed(0)
    model = build_model(read_transformer(Source(small)), Clrcmd(low_rank=LowRank(rank=4), dropout=0.3))
    for module in model.modules():
        if isinstance(module, LoraLayer):
            for weights in module.lora_B.parameters():
                torch.nn.init.normal_(weights, std=0.2)
    return model.train()


def kept(model: SentenceTransformer, weight: float) -> KeptVectors:
    return KeptVectors(model, TEXTS, weight, batch_size=2, max_tokens=64)


def test_the_loss_of_kept_vectors_equals_its_formula(small: Path, tmp_path: Path) -> None:
    model = tuned_model(small).eval()
    loss = kept(model, 3.0).of(TEXTS).item()
    merge_adapters(model, None).save_pretrained(str(tmp_path / "tuned"), create_model_card=False)
    before, after = (_token_vectors(each) for each in (small, tmp_path / "tuned"))
    cosines = (before * after).sum(axis=1) / np.linalg.norm(before, axis=1) / np.linalg.norm(after, axis=1)
    assert loss == pytest.approx(3 * (1 - cosines).mean(), rel=1e-3)
    assert loss > 0.01, "the adapters change nothing: this test proves nothing"


def test_the_reference_has_no_dropout_and_no_gradient(small: Path) -> None:
    model = tuned_model(small)
    passes = []
    model.register_forward_hook(lambda module, *_: passes.append((module.training, torch.is_grad_enabled())))
    loss = kept(model, 1.0).of(TEXTS)
    assert passes == [(False, False), (True, True)]
    loss.backward()  # type: ignore[no-untyped-call]
    assert model.training
    for name, weights in model.named_parameters():
        is_adapter = "lora_" in name
        assert weights.requires_grad == is_adapter, name
        assert (weights.grad is not None) == is_adapter, name


def test_a_batch_is_drawn_by_the_generator_of_torch(small: Path) -> None:
    loss = kept(tuned_model(small).eval(), 1.0)
    values = []
    for seed in (0, 0, 1, 2, 3):
        torch.manual_seed(seed)
        values.append(loss().item())
    assert values[0] == values[1]
    assert len(set(values)) > 1


def _token_vectors(folder: Path) -> np.ndarray:
    encoder = load(folder)
    encoded = encoder.encode(encoder.tokenize(TEXTS, "query", "END"), "tokens")
    return np.concatenate([each.vectors for each in encoded])


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
def test_the_loss_of_aligned_words_equals_its_formula(
    pairs: list[WordAlignedPair], small: Path, model: SentenceTransformer
) -> None:
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
    encoder = loaded(small)
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
