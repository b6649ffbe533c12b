"""Numbers from worked examples of the CLRCMD paper."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.models.catalogue import similarity
from semblance.models.measures.alignment import cosine_matrix
from semblance.models.measures.transport import average_pooling_plan, column_plan, row_plan
from semblance.models.protocols import Explainable
from tests.support.project import GOLDEN_FILES
from tests.support.token_matrices import embeddings_of

GOLDEN = json.loads((GOLDEN_FILES / "clrcmd.json").read_text())
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


def test_an_additional_token_changes_the_score() -> None:
    longer = embeddings_of(np.array([*GOLDEN["x"], GOLDEN["masked_row"]], np.float32))
    assert similarity("rcmd").score(longer, Y) == pytest.approx(GOLDEN["rcmd_if_the_masked_row_counted"], abs=TOLERANCE)


def test_plans() -> None:
    cosines = cosine_matrix(X, Y)
    assert row_plan(cosines) == pytest.approx(np.array(GOLDEN["row_plan"]), abs=TOLERANCE)
    assert column_plan(cosines) == pytest.approx(np.array(GOLDEN["column_plan"]), abs=TOLERANCE)
    assert average_pooling_plan(X, Y) == pytest.approx(np.array(GOLDEN["average_pooling_plan"]), abs=TOLERANCE)


def test_average_pooling_as_transport() -> None:
    """The paper's costs, whose total under the plan is one minus the cosine of the means."""
    plan = average_pooling_plan(X, Y)
    costs = 1 / (len(X) * len(Y)) / plan - cosine_matrix(X, Y)
    assert costs == pytest.approx(np.array(GOLDEN["average_pooling_costs"]), abs=TOLERANCE)
    distance = float((plan * costs).sum())
    assert distance == pytest.approx(GOLDEN["average_pooling_distance"], abs=TOLERANCE)
    assert distance == pytest.approx(1 - similarity("cosine").score(X, Y), abs=TOLERANCE)
    assert np.linalg.matrix_rank(plan) == GOLDEN["average_pooling_rank"]


def test_distances() -> None:
    assert 1 - similarity("cmd").score(X, Y) == pytest.approx(GOLDEN["exact_transport_distance"], abs=TOLERANCE)
    for name, distance in GOLDEN["relaxed_distances"].items():
        assert 1 - similarity(name).score(X, Y) == pytest.approx(distance, abs=TOLERANCE)
