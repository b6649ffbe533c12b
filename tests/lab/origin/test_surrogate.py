"""A surrogate's initial model: the mean of static vectors, or random weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from semblance.models.embeddings import Doubles
from semblance_lab.origin.corpus.static_vectors import SkipGram, learn_vectors, train_skip_gram, weight_vectors
from semblance_lab.origin.corpus.tokens import Vocabulary
from semblance_lab.origin.errors import BadCorpus, BadOrigin
from semblance_lab.origin.surrogate import BertShape, write_scratch, write_static
from tests.lab.origin.small_harvest import small_corpus
from tests.support.small_model import load

LINES = small_corpus().lines
SHAPE = BertShape(dim=32, layers=2, heads=2, tokens=16)
SKIP_GRAM = SkipGram(SHAPE.static_dim, epochs=2)


class Rows:
    """Tokens in memory."""

    def __init__(self, rows: Sequence[NDArray[np.int32]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, numbers: Sequence[int]) -> list[NDArray[np.int32]]:
        return [self._rows[i] for i in numbers]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("origin") / "vocabulary"
    Vocabulary.train(LINES, 128).save(folder)
    return folder


@pytest.fixture(scope="module")
def tokens(vocabulary: Path) -> Rows:
    return Rows(Vocabulary.open(vocabulary).encode(LINES, 32))


@pytest.fixture(scope="module")
def static(vocabulary: Path, tokens: Rows) -> Doubles:
    return learn_vectors(tokens, Vocabulary.open(vocabulary).size, SKIP_GRAM)


def pooled(folder: Path, texts: Sequence[str]) -> Doubles:
    encoder = load(folder)
    return np.stack([each.pooled() for each in encoder.encode(encoder.tokenize(texts, "query", "END"), "pooled")])


@pytest.fixture(scope="module")
def folder(vocabulary: Path, static: Doubles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The static model."""
    written = tmp_path_factory.mktemp("static") / "model"
    write_static(vocabulary, static, SHAPE, written)
    return written


def test_an_untrained_static_model_computes_the_mean_of_token_vectors(
    vocabulary: Path, static: Doubles, folder: Path
) -> None:
    texts = ["The dog watches the river.", "a storm", "An unknown wörd, and the ship sleeps near the bridge"]
    vectors = pooled(folder, texts)
    for text, found in zip(texts, vectors, strict=True):
        [ids] = Vocabulary.open(vocabulary).encode([text], 14)
        mean = static[ids].sum(0) / (len(ids) + 2)  # the two special tokens are zeros
        np.testing.assert_allclose(found, np.sqrt(SHAPE.dim) * np.append(mean, [0, 0]), atol=1e-5)
    library = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    np.testing.assert_allclose(vectors, library.encode(texts), atol=1e-6)


def test_every_weight_of_a_static_model_has_a_gradient(folder: Path) -> None:
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True).eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        features = model.preprocess(["The dog watches the river.", "A storm falls near the ship."])
        vectors = model(features)["sentence_embedding"]
        vectors[0].dot(vectors[1]).backward()
        optimizer.step()
    without = [name for name, weights in model.named_parameters() if weights.grad is None or not weights.grad.any()]
    # a bias of keys shifts all attention scores equally, and so never has a gradient
    assert [name for name in without if "pooler" not in name and "key.bias" not in name] == []


def test_weighted_vectors_follow_smooth_inverse_frequency(tokens: Rows) -> None:
    rng = np.random.default_rng(3)
    vectors, counts = rng.normal(size=(128, 30)).astype(np.float32), np.zeros(128)
    np.add.at(counts, np.concatenate(tokens.rows(range(len(tokens)))), 1)
    found = weight_vectors(vectors, counts, tokens)
    assert (np.linalg.norm(found, axis=1) <= 1 + 1e-9).all()
    np.testing.assert_allclose(found.sum(1), 0, atol=1e-9)
    expected = vectors - vectors[counts > 0].astype(float).mean(0)
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    expected = expected * (0.001 / (0.001 + counts / counts.sum()))[:, None]
    expected[counts == 0] = 0
    expected = expected - expected.mean(1, keepdims=True)
    sentences = np.array([expected[row].mean(0) for row in tokens.rows(range(len(tokens)))])
    common = np.linalg.svd(sentences)[2][0]
    np.testing.assert_allclose(found, expected - np.outer(expected @ common, common), atol=1e-9)


def test_skip_gram_is_deterministic_and_groups_words_by_context() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(10, 20, (300, 8)), rng.integers(20, 30, (300, 8))
    rows = Rows([row.astype(np.int32) for row in np.concatenate([one, other])])
    vectors, counts = train_skip_gram(rows, 40, SkipGram(16, epochs=20))
    np.testing.assert_array_equal(counts, np.bincount(np.concatenate([one, other]).ravel(), minlength=40))
    assert not vectors[30:].any()
    unit = vectors[10:30] / np.linalg.norm(vectors[10:30], axis=1, keepdims=True)
    cosines = unit @ unit.T
    assert cosines[:10, :10].min() > cosines[:10, 10:].max()
    first, again, seed = (train_skip_gram(rows, 40, SkipGram(16, epochs=1, seed=seed))[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, seed)


def test_random_weights_depend_on_shape_and_seed(vocabulary: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        write_scratch(vocabulary, BertShape(dim=32, layers=2, heads=2, tokens=16, seed=seed), tmp_path / name)
    texts = ["The dog watches the river.", "a storm"]
    one, same, other = (pooled(tmp_path / name, texts) for name in ("one", "same", "other"))
    assert one.shape == (2, 32)
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other, atol=0.1)
    assert load(tmp_path / "one").max_tokens == 16


def test_invalid_inputs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOrigin, match="3 heads do not divide 32 dimensions"):
        BertShape(dim=32, heads=3)
    with pytest.raises(BadOrigin, match="vocabulary"):
        write_scratch(tmp_path / "vocabulary", SHAPE, tmp_path / "out")
    with pytest.raises(BadCorpus, match="no token"):
        learn_vectors(Rows([np.zeros(0, np.int32)]), 10, SKIP_GRAM)
