"""Weightings and projections, compared with the numbers of the papers and with scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from sklearn.decomposition import PCA, TruncatedSVD

from semblance.models.adaptation.affine_map import AffineMap, read_affine_map
from semblance.models.adaptation.principal_axes import principal_axes
from semblance.models.errors import BadCheckpoint, NotFitted
from semblance.models.projections.common_component_removal import CommonComponentRemoval
from semblance.models.projections.whitening import Whitening
from semblance.models.text import TokenizedText
from semblance.models.weightings.sif import Sif, read_counts
from semblance.models.weightings.uniform import Uniform
from tests.support.project import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "sif.json").read_text())
TOLERANCE = GOLDEN["tolerance"]


def text_of(text: str, spans: list[tuple[int, int]], words: list[int]) -> TokenizedText:
    n = len(words)
    return TokenizedText(text, np.zeros(n, np.int32), np.array(spans, np.int32), np.array(words, np.int32))


def correlated(n: int, d: int) -> np.ndarray:
    """Vectors with a nonzero mean and very different variances."""
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(n, d)) * np.geomspace(1, 0.01, d) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    return np.asarray(mixed, np.float64)


def test_sif_weights_agree_with_the_paper() -> None:
    often, rare, _ = GOLDEN["shares"]
    counts = {"often": often * 1000, "rare": rare * 1000, "rest": 1000 * (1 - often - rare)}
    text = text_of("often rare never", [(0, 5), (6, 10), (11, 16)], [0, 1, 2])
    assert Sif(counts, "").weights(text) == pytest.approx(GOLDEN["weights"], abs=TOLERANCE)


def test_subwords_get_the_weight_of_their_lower_cased_word() -> None:
    text = text_of("PLAYING the", [(0, 0), (0, 4), (4, 7), (8, 11), (0, 0)], [-1, 0, 0, 1, -1])
    weights = Sif({"playing": 1, "play": 500, "the": 499}, "").weights(text)
    playing, the = 1e-3 / (1e-3 + 1e-3), 1e-3 / (1e-3 + 0.499)
    assert weights == pytest.approx([0, playing, playing, the, 0], abs=1e-7)
    assert Uniform().weights(text).tolist() == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "lines",
    ["The\t3\nof\t1\nthe\t2\n", "word\tcount\nThe\t3\nof\t1\nthe\t2", "the 5\r\nof 1\r\n\r\n", "\ufeffthe 5\nof 1"],
)
def test_counts_may_have_headers_tabs_spaces_and_mixed_case(tmp_path: Path, lines: str) -> None:
    file = tmp_path / "counts"
    file.write_bytes(lines.encode())
    assert read_counts(file) == {"the": 5, "of": 1}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("the 5\nof\n", "line 2: not a word and its count"),
        ("the 5\nof many\n", "line 2"),
        ("the 5\nof -1\n", "line 2"),
        ("the 5\nof nan\n", "line 2"),
        ("", "contains no word counts"),
        ("word count\n", "contains no word counts"),
    ],
)
def test_a_malformed_line_of_counts_is_rejected_by_number(tmp_path: Path, lines: str, message: str) -> None:
    file = tmp_path / "counts"
    file.write_text(lines)
    with pytest.raises(BadCheckpoint, match=message):
        read_counts(file)


def test_the_frequencies_of_the_sif_repository_can_be_read(data: Path) -> None:
    counts = read_counts(data / "lexicon" / "enwiki_vocab_min200.tsv")
    assert len(counts) == 188_033
    assert sum(counts.values()) == pytest.approx(3.48414e9, rel=1e-5)


def test_the_common_component_agrees_with_the_paper() -> None:
    vectors = np.array(GOLDEN["vectors"], np.float64)
    removal = CommonComponentRemoval().fit(vectors)
    assert removal(vectors.astype(np.float32)) == pytest.approx(np.array(GOLDEN["residuals"]), abs=TOLERANCE)
    component = np.array(GOLDEN["common_component"])
    assert component @ removal.matrix == pytest.approx([0, 0], abs=TOLERANCE)


def test_common_component_removal_agrees_with_truncated_svd() -> None:
    vectors = correlated(200, 12)
    common = TruncatedSVD(1, algorithm="arpack", random_state=0).fit(vectors).components_[0]
    expected = vectors - np.outer(vectors @ common, common)
    removal = CommonComponentRemoval().fit(vectors)
    assert removal(vectors.astype(np.float32)) == pytest.approx(expected, abs=1e-5)
    assert removal.matrix @ removal.matrix == pytest.approx(removal.matrix, abs=1e-12)
    with pytest.raises(NotFitted, match="every vector is zero"):
        CommonComponentRemoval().fit(np.zeros((3, 2)))


@pytest.mark.parametrize("k", [12, 5])
def test_whitening_agrees_with_pca_except_for_signs(k: int) -> None:
    vectors = correlated(200, 12)
    expected = PCA(k, whiten=True, svd_solver="full").fit_transform(vectors)
    white = (vectors - Whitening().fit(vectors, k).mean) @ Whitening().fit(vectors, k).matrix
    assert np.abs(white) == pytest.approx(np.abs(expected), abs=1e-8)
    assert np.cov(white.T) == pytest.approx(np.eye(k), abs=1e-9)


@pytest.mark.parametrize(
    ("vectors", "dims", "message"),
    [
        (np.eye(5), None, "5 texts are too few for 5 dimensions"),
        (np.repeat(np.eye(5), 3, axis=0), 5, "only 4 directions, not 5; pass --dims 4 or fewer, or omit --dims"),
        (np.ones((9, 5)), 1, "all texts have the same vector"),
        (np.ones((9, 5)), None, "all texts have the same vector"),
        (np.eye(5), 6, "cannot keep 6 of 5 dimensions"),
    ],
)
def test_whitening_rejects_directions_without_variance(vectors: np.ndarray, dims: int | None, message: str) -> None:
    with pytest.raises(NotFitted, match=message):
        Whitening().fit(vectors.astype(np.float64), dims)


@pytest.mark.parametrize(("dims", "kept"), [(None, 4), (4, 4), (2, 2)])
def test_whitening_keeps_no_direction_without_variance(dims: int | None, kept: int) -> None:
    vectors = np.repeat(np.eye(5), 3, axis=0)
    white = Whitening().fit(vectors, dims)(vectors.astype(np.float32))
    assert np.cov(white.T) == pytest.approx(np.eye(kept), abs=1e-5)


def test_tokens_of_a_layer_normalization_lose_one_dimension_or_more() -> None:
    """As the docstring says: one by the mean of the normalized vector, or one for each weight of 0."""
    hidden = correlated(200, 12)
    normalized = (hidden - hidden.mean(axis=1, keepdims=True)) / hidden.std(axis=1, keepdims=True)
    weights, biases = np.linspace(0.5, 2, 12), np.linspace(-1, 1, 12)
    assert Whitening().fit(normalized * weights + biases).matrix.shape == (12, 11)
    weights[[2, 5, 7]] = 0
    assert Whitening().fit(normalized * weights + biases).matrix.shape == (12, 9)


def test_a_saved_map_is_read_back_exactly(tmp_path: Path) -> None:
    saved = AffineMap(np.array([1.0, 2.0]), np.array([[0.1], [1 / 3]]), {"kind": "whitening", "space": "s"})
    saved.save(tmp_path / "map")
    read = read_affine_map(tmp_path / "map")
    np.testing.assert_array_equal(read.mean, saved.mean)
    np.testing.assert_array_equal(read.matrix, saved.matrix)
    assert (read.metadata, read.digest) == (saved.metadata, saved.digest)


def test_files_that_are_no_projections_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no tensors")
    save_file({"mean": np.zeros(2), "matrix": np.zeros((2, 2))}, tmp_path / "foreign")
    AffineMap(np.zeros(3), np.zeros((2, 2))).save(tmp_path / "odd")
    AffineMap(np.zeros(2), np.full((2, 2), np.nan)).save(tmp_path / "nan")
    messages = {"text": "cannot read", "missing": "cannot read", "foreign": "no projection"}
    for name in ("text", "missing", "foreign", "odd", "nan"):
        with pytest.raises(BadCheckpoint, match=messages.get(name, "no finite affine")):
            read_affine_map(tmp_path / name)


@given(n=st.integers(2, 30), d=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_principal_axes_with_fixed_signs_are_those_of_scikit_learn(n: int, d: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, d))
    axes, oracle = principal_axes(vectors), PCA(svd_solver="full").fit(vectors)
    kept = min(n, d)
    assert np.allclose(axes.mean, oracle.mean_)
    assert np.allclose(axes.variances[:kept], oracle.explained_variance_[:kept])
    assert np.allclose(axes.variances[kept:], 0.0)
    assert np.allclose(axes.directions.T @ axes.directions, np.eye(d))
    varying = int((axes.variances[:kept] > 1e-9).sum())
    along = np.abs((axes.directions[:, :varying] * oracle.components_[:varying].T).sum(axis=0))
    assert np.allclose(along, 1.0, atol=1e-5)
    largest = axes.directions[np.abs(axes.directions).argmax(axis=0), np.arange(d)]
    assert (largest > 0).all()


def test_a_single_vector_has_no_variance() -> None:
    axes = principal_axes(np.array([[1.0, 2.0]]))
    assert (axes.variances == 0.0).all()
    assert (axes.mean == [1.0, 2.0]).all()
