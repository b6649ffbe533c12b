"""Numbers from worked examples of the fuzzy-set measures."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.models.catalogue import similarity
from semblance.models.embeddings import unit_rows
from semblance.models.measures.fuzzy_sets import Degrees, dynamax, jaccard, max_pooled
from tests.support.project import GOLDEN_FILES
from tests.support.token_matrices import embeddings_of

GOLDEN = json.loads((GOLDEN_FILES / "dynamax.json").read_text())
TOLERANCE = GOLDEN["tolerance"]
X, Y = (embeddings_of(np.array(GOLDEN[name], np.float32)) for name in ("x", "y"))


@pytest.mark.parametrize(("name", "degrees"), [("dynamax", dynamax(X, Y)), ("max_pooled", max_pooled(X, Y))])
def test_memberships(name: str, degrees: Degrees) -> None:
    for side, memberships in zip(("x", "y"), degrees.memberships(), strict=True):
        assert memberships.tolist() == GOLDEN[f"{name}_memberships_{side}"]


@pytest.mark.parametrize("name", GOLDEN["scores"])
def test_scores(name: str) -> None:
    assert similarity(name).score(X, Y) == pytest.approx(GOLDEN["scores"][name], abs=TOLERANCE)


def test_a_fixed_universe_is_possible() -> None:
    universe = np.array(GOLDEN["fixed_universe"], np.float64).T
    score = Degrees(X.vectors @ universe, Y.vectors @ universe).score(jaccard)
    assert score == pytest.approx(GOLDEN["jaccard_over_the_fixed_universe"], abs=TOLERANCE)


def test_repeated_tokens_count_repeatedly() -> None:
    repeated = embeddings_of(np.array([*GOLDEN["x"], GOLDEN["x"][1]], np.float32))
    expected = GOLDEN["x_with_its_second_token_repeated"]
    assert similarity("dynamax_jaccard").score(repeated, Y) == pytest.approx(expected, abs=TOLERANCE)


def test_unit_vectors_change_the_score() -> None:
    x, y = (embeddings_of(unit_rows(side.vectors).astype(np.float32)) for side in (X, Y))
    assert similarity("dynamax_jaccard").score(x, y) == pytest.approx(GOLDEN["of_unit_vectors"], abs=TOLERANCE)


def test_weights_apply_to_the_universe_too() -> None:
    x, y = (
        embeddings_of(side.vectors, weights=np.array(GOLDEN[f"sif_weights_{name}"], np.float32))
        for name, side in (("x", X), ("y", Y))
    )
    assert similarity("dynamax_jaccard").score(x, y) == pytest.approx(GOLDEN["with_sif_weights"], abs=TOLERANCE)


def test_soft_cardinality_uses_true_cosines() -> None:
    """The outer elements are orthogonal: |X| = 2, |Y| = 1, |X ∪ Y| = 3 / (1 + s) for a score s."""
    first, middle, last = np.array(GOLDEN["soft_elements"], np.float32)
    score = similarity("soft_cardinality").score(embeddings_of(np.stack([first, last])), embeddings_of(middle[None]))
    assert 3 / (1 + score) == pytest.approx(GOLDEN["soft_cardinality"], abs=TOLERANCE)
    assert 3 / (1 + score) != pytest.approx(GOLDEN["soft_cardinality_in_the_authors_code"], abs=1e-4)
