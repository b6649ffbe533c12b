"""What a runtime must agree with shows every vector that is off, wherever it stands."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.models.embeddings import Floats
from semblance.models.errors import BuildDisagrees
from semblance.models.networks.agreement import least_cosine, require_agreement

EXACT = [np.array([[3.0, 4.0], [1.0, 0.0]], np.float32), np.array([[0.0, 2.0]], np.float32)]


def changed(text: int, row: int, vector: tuple[float, float]) -> list[Floats]:
    found = [each.copy() for each in EXACT]
    found[text][row] = vector
    return found


@pytest.mark.parametrize(("text", "row"), [(0, 0), (0, 1), (1, 0)])
def test_the_least_is_found_wherever_it_stands(text: int, row: int) -> None:
    assert least_cosine(zip(EXACT, EXACT, strict=True)) == pytest.approx(1)
    x, y = EXACT[text][row].astype(float), np.array([-4.0, 3.0])
    found = changed(text, row, (-4.0, 3.0))
    assert least_cosine(zip(EXACT, found, strict=True)) == pytest.approx(x @ y / 5 / np.hypot(*x))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("text", "row"), [(0, 0), (0, 1), (1, 0)])
def test_what_is_no_number_agrees_with_nothing(text: int, row: int, wrong: float) -> None:
    found = changed(text, row, (wrong, 1.0))
    assert not least_cosine(zip(EXACT, found, strict=True)) > 0
    assert not least_cosine(zip(found, EXACT, strict=True)) > 0
    with pytest.raises(BuildDisagrees, match=r"m in bfloat16 has cosine (nan|0\.0+) .*: serve it in float32"):
        require_agreement(EXACT, found, 0.999, "m in bfloat16", "serve it in float32")


def test_what_is_near_enough_agrees() -> None:
    require_agreement(EXACT, changed(0, 1, (1.0, 0.01)), 0.999, "m", "")
