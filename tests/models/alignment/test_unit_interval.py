"""The map of scores to [0, 1] is increasing and depends on the bounds alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.alignment.unit_interval import to_unit_interval
from semblance.models.catalogue import MEASURES, names, similarity

ALL_BOUNDS = sorted({similarity(name).bounds for name in names(MEASURES)})


@pytest.mark.parametrize("bounds", ALL_BOUNDS)
@given(data=st.data())
def test_scores_of_every_measure_keep_their_order(bounds: tuple[float, float], data: st.DataObject) -> None:
    low, high = (float(np.clip(bound, -1e6, 1e6)) for bound in bounds)
    scores = np.array(data.draw(st.lists(st.floats(low, high), min_size=1)))
    mapped = to_unit_interval(scores, bounds)
    assert mapped.min() >= 0
    assert mapped.max() <= 1
    order = np.argsort(scores, kind="stable")
    assert (np.diff(mapped[order]) >= 0).all()
    apart = np.diff(scores[order]) > 1e-3
    assert (np.diff(mapped[order])[apart] > 0).all()
    assert to_unit_interval(scores[:1], bounds)[0] == mapped[0]


@pytest.mark.parametrize("bounds", ALL_BOUNDS)
def test_finite_bounds_map_to_the_ends(bounds: tuple[float, float]) -> None:
    for end, bound in zip((0.0, 1.0), bounds, strict=True):
        if np.isfinite(bound):
            assert to_unit_interval(np.array([bound]), bounds).tolist() == [end]


def test_an_infinite_distance_maps_to_zero() -> None:
    assert to_unit_interval(np.array([-np.inf]), (-np.inf, 0.0)).tolist() == [0.0]


def test_a_logit_maps_to_its_sigmoid() -> None:
    mapped = to_unit_interval(np.array([-1e4, -2.0, 0.0, 2.0, 1e4]), (-np.inf, np.inf))
    assert mapped.tolist() == pytest.approx([0, 1 / (1 + np.e**2), 0.5, 1 / (1 + np.e**-2), 1])
