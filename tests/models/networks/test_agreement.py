"""The agreement check detects a single wrong vector at any position."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.models.embeddings import Floats
from semblance.models.errors import BuildDisagrees
from semblance.models.networks.agreement import least_cosine, require_agreement

EXACT = [np.array([[3.0, 4.0], [1.0, 0.0]], np.float32), np.array([[0.0, 2.0]], np.float32)]


def changed(text: int, row: int, vector: tuple[float, float]) -> list[Floats]:
    vectors = [each.copy() for each in EXACT]
    vectors[text][row] = vector
    return vectors


@pytest.mark.parametrize(("text", "row"), [(0, 0), (0, 1), (1, 0)])
def test_least_cosine_finds_a_wrong_row_anywhere(text: int, row: int) -> None:
    assert least_cosine(zip(EXACT, EXACT, strict=True)) == pytest.approx(1)
    x, y = EXACT[text][row].astype(float), np.array([-4.0, 3.0])
    vectors = changed(text, row, (-4.0, 3.0))
    assert least_cosine(zip(EXACT, vectors, strict=True)) == pytest.approx(x @ y / 5 / np.hypot(*x))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("text", "row"), [(0, 0), (0, 1), (1, 0)])
def test_vectors_that_are_not_finite_never_agree(text: int, row: int, wrong: float) -> None:
    vectors = changed(text, row, (wrong, 1.0))
    assert not least_cosine(zip(EXACT, vectors, strict=True)) > 0
    assert not least_cosine(zip(vectors, EXACT, strict=True)) > 0
    with pytest.raises(BuildDisagrees, match=r"m in bfloat16 has cosine (nan|0\.0+) .*: serve it in float32"):
        require_agreement(EXACT, vectors, 0.999, "m in bfloat16", "serve it in float32")


def test_vectors_within_the_limit_agree() -> None:
    require_agreement(EXACT, changed(0, 1, (1.0, 0.01)), 0.999, "m", "")
