"""Worked numbers of the papers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import ot
import pytest

from models.alignment import cosine_matrix
from models.catalogue import similarity
from models.protocols import Explainable
from tests.contracts.token_matrices import embeddings_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "clrcmd.json").read_text())
TOLERANCE = GOLDEN["tolerance"]
X, Y = (embeddings_of(np.array(GOLDEN[name], np.float32)) for name in ("x", "y"))


def test_cosines_of_all_token_pairs() -> None:
    assert cosine_matrix(X, Y) == pytest.approx(np.array(GOLDEN["cosines"]), abs=TOLERANCE)


@pytest.mark.parametrize("name", ["rcmd", "rcmd1", "rcmd2", "cosine"])
def test_scores(name: str) -> None:
    assert similarity(name).score(X, Y) == pytest.approx(GOLDEN[name], abs=TOLERANCE)


@pytest.mark.parametrize("name", ["rcmd", "cosine"])
def test_parts_of_the_score(name: str) -> None:
    measure = similarity(name)
    assert isinstance(measure, Explainable)
    assert measure.explain(X, Y).contribution == pytest.approx(np.array(GOLDEN[f"{name}_parts"]), abs=TOLERANCE)


def test_one_more_token_changes_the_score_as_worked_out() -> None:
    longer = embeddings_of(np.array([*GOLDEN["x"], GOLDEN["masked_row"]], np.float32))
    assert similarity("rcmd").score(longer, Y) == pytest.approx(GOLDEN["rcmd_if_the_masked_row_counted"], abs=TOLERANCE)


def test_the_relaxed_distances_stay_below_exact_transport() -> None:
    """With POT as the oracle of exact transport under uniform marginals, on random token matrices."""
    rng = np.random.default_rng(0)
    assert _exact_distance(X.vectors, Y.vectors) == pytest.approx(GOLDEN["exact_transport_distance"], abs=TOLERANCE)
    for _ in range(50):
        x, y = (rng.normal(size=(rng.integers(1, 9), 5)).astype(np.float32) for _ in range(2))
        exact = _exact_distance(x, y)
        for name in ("rcmd1", "rcmd2"):
            assert 1 - similarity(name).score(embeddings_of(x), embeddings_of(y)) <= exact + 1e-6


def _exact_distance(x: np.ndarray, y: np.ndarray) -> float:
    cost = 1 - cosine_matrix(embeddings_of(x), embeddings_of(y))
    return float(ot.emd2(np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y)), cost))
