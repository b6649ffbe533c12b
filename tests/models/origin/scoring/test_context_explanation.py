"""Contributions of contexts and terms sum to the score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from semblance.models.embeddings import Doubles
from semblance.models.origin.scoring.context_explanation import ContextExplanation
from semblance.models.origin.scoring.scoring import FORMS, TERMS, Form, scores, similarity

FEW = settings(max_examples=20)
logs = st.floats(-20, -1e-3).map(lambda each: round(each, 3))
weights = st.tuples(*[st.sampled_from([0.0, 0.25, 1.0, 3.0])] * 4).filter(any)
terms = st.integers(1, 12).flatmap(lambda n: st.tuples(*[arrays(np.float64, (n, 4), elements=logs)] * 2))


def explanation(pair: tuple[Doubles, Doubles], chosen: tuple[float, ...], form: Form) -> ContextExplanation:
    return ContextExplanation.of(np.arange(len(pair[0])) + 10, *pair, chosen, form)


@FEW
@given(terms, weights, st.sampled_from(FORMS))
def test_terms_sum_to_contexts_and_contexts_to_the_score(
    pair: tuple[Doubles, Doubles], chosen: tuple[float, ...], form: Form
) -> None:
    found = explanation(pair, chosen, form)
    score = similarity(scores(pair[0], chosen), scores(pair[1], chosen), form)
    assert found.score == pytest.approx(score, abs=1e-9)
    assert found.by_context.sum() == pytest.approx(score, abs=1e-9)
    assert sum(found.by_term.values()) == pytest.approx(score, abs=1e-9)
    for name, weight in zip(TERMS, chosen, strict=True):
        if weight == 0:
            assert found.by_term[name] == 0


@FEW
@given(terms, weights)
def test_every_part_matches_the_definition(pair: tuple[Doubles, Doubles], chosen: tuple[float, ...]) -> None:
    found = explanation(pair, chosen, "cosine")
    (t1, t2), (v1, v2) = pair, (scores(each, chosen) for each in pair)
    lengths = np.linalg.norm(v1) * np.linalg.norm(v2)
    for c in range(len(v1)):
        assert found.by_context[c] == pytest.approx(v1[c] * v2[c] / lengths, abs=1e-9)
        for t, weight in enumerate(chosen):
            half = weight * (t1[c, t] * v2[c] + v1[c] * t2[c, t]) / 2
            assert found.parts[c, t] == pytest.approx(half / lengths, abs=1e-9)


def test_centred_parts_sum_to_those_of_the_centred_scores() -> None:
    a, b = -np.random.default_rng(1).random((2, 6, 4))
    found = explanation((a, b), (1, 1, 1, 1), "centred")
    c1, c2 = (each.sum(axis=1) - each.sum(axis=1).mean() for each in (a, b))
    assert found.by_context == pytest.approx(c1 * c2 / np.linalg.norm(c1) / np.linalg.norm(c2), abs=1e-12)


def test_top_contexts_contribute_most_and_shared_ones_twice() -> None:
    scored = np.array([[-1.0, -4, -2, -4, -3], [-1.0, -3, -2, -3, -3]])
    terms = np.stack([scored, *[np.zeros_like(scored)] * 3], axis=-1)
    found = ContextExplanation.of(np.array([5, 9, 2, 9, 4]), terms[0], terms[1], (1, 1, 1, 1), "cosine")
    assert found.contexts[found.top(99)].tolist() == [9, 4, 2, 5]
    assert found.contexts[found.top(2)].tolist() == [9, 4]
    assert found.score == pytest.approx(similarity(*scored), abs=1e-12)
    reason = found.reason(int(found.top(1)[0]), "before", "after")
    assert (reason.context, reason.left, reason.right, reason.scores) == (9, "before", "after", (-4, -3))
    assert reason.contribution == pytest.approx(24 / np.linalg.norm(scored[0]) / np.linalg.norm(scored[1]))
    assert reason.parts == {"coherence": reason.contribution, "centre": 0, "left": 0, "right": 0}
