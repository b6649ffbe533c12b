"""Numbers from worked examples of papers: transport between tokens, and fuzzy sets."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike

from semblance.models.alignment.fuzzy_sets import Degrees, dynamax, jaccard, max_pooled
from semblance.models.alignment.token_matches import cosine_matrix
from semblance.models.alignment.transport import average_pooling_plan, column_plan, row_plan
from semblance.models.catalogue import explainable, similarity
from semblance.models.embeddings import TokenEmbeddings, unit_rows
from tests.support.project import GOLDEN_FILES
from tests.support.token_matrices import embeddings_of

CLRCMD, DYNAMAX = (json.loads((GOLDEN_FILES / f"{paper}.json").read_text()) for paper in ("clrcmd", "dynamax"))
X, Y, U, V = (embeddings_of(np.array(paper[name], np.float32)) for paper in (CLRCMD, DYNAMAX) for name in "xy")


def with_row(text: TokenEmbeddings, row: list[float]) -> TokenEmbeddings:
    return embeddings_of(np.array([*text.vectors, row], np.float32))


def of_unit_length(text: TokenEmbeddings) -> TokenEmbeddings:
    return embeddings_of(unit_rows(text.vectors).astype(np.float32))


def weighted(name: str, text: TokenEmbeddings) -> TokenEmbeddings:
    return embeddings_of(text.vectors, weights=np.array(DYNAMAX[f"sif_weights_{name}"], np.float32))


def over_the_fixed_universe() -> float:
    universe = np.array(DYNAMAX["fixed_universe"], np.float64).T
    return Degrees(U.vectors @ universe, V.vectors @ universe).score(jaccard)


def soft_cardinality_of_the_union() -> float:
    """The outer elements are orthogonal: |X| = 2, |Y| = 1, |X ∪ Y| = 3 / (1 + s) for a score s by true cosines."""
    first, middle, last = np.array(DYNAMAX["soft_elements"], np.float32)
    outer, inner = embeddings_of(np.stack([first, last])), embeddings_of(middle[None])
    return 3 / (1 + similarity("soft_cardinality").score(outer, inner))


FIGURES: dict[str, Callable[[], ArrayLike]] = {
    "cosines": lambda: cosine_matrix(X, Y),
    "rcmd": lambda: similarity("rcmd").score(X, Y),
    "rcmd1": lambda: similarity("rcmd1").score(X, Y),
    "rcmd2": lambda: similarity("rcmd2").score(X, Y),
    "cosine": lambda: similarity("cosine").score(X, Y),
    "rcmd_parts": lambda: explainable("rcmd").explain(X, Y).contribution,
    "cosine_parts": lambda: explainable("cosine").explain(X, Y).contribution,
    "rcmd_if_the_masked_row_counted": lambda: similarity("rcmd").score(with_row(X, CLRCMD["masked_row"]), Y),
    "row_plan": lambda: row_plan(cosine_matrix(X, Y)),
    "column_plan": lambda: column_plan(cosine_matrix(X, Y)),
    "average_pooling_plan": lambda: average_pooling_plan(X, Y),
    "exact_transport_distance": lambda: 1 - similarity("cmd").score(X, Y),
    "dynamax_memberships_x": lambda: dynamax(U, V).memberships()[0],
    "dynamax_memberships_y": lambda: dynamax(U, V).memberships()[1],
    "max_pooled_memberships_x": lambda: max_pooled(U, V).memberships()[0],
    "max_pooled_memberships_y": lambda: max_pooled(U, V).memberships()[1],
    "jaccard_over_the_fixed_universe": over_the_fixed_universe,
    "x_with_its_second_token_repeated": lambda: similarity("dynamax_jaccard").score(with_row(U, DYNAMAX["x"][1]), V),
    "of_unit_vectors": lambda: similarity("dynamax_jaccard").score(of_unit_length(U), of_unit_length(V)),
    "with_sif_weights": lambda: similarity("dynamax_jaccard").score(weighted("x", U), weighted("y", V)),
    "average_cosine_with_sif_weights": lambda: similarity("cosine").score(weighted("x", U), weighted("y", V)),
    "soft_cardinality": soft_cardinality_of_the_union,
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_equal_those_of_the_papers(name: str) -> None:
    paper = CLRCMD if name in CLRCMD else DYNAMAX
    assert FIGURES[name]() == pytest.approx(np.array(paper[name]), abs=paper["tolerance"])


def test_scores_of_each_measure_equal_those_of_the_papers() -> None:
    for name, score in DYNAMAX["scores"].items():
        assert similarity(name).score(U, V) == pytest.approx(score, abs=DYNAMAX["tolerance"])
    for name, distance in CLRCMD["relaxed_distances"].items():
        assert 1 - similarity(name).score(X, Y) == pytest.approx(distance, abs=CLRCMD["tolerance"])
