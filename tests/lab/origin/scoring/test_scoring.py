"""Scores in contexts, their similarity and its explanation: worked numbers and laws."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cosine as cosine_distance
from scipy.stats import pearsonr

from semblance.models.embeddings import Doubles
from semblance_lab.origin.origin_settings import ContextSettings
from semblance_lab.origin.scoring.context_explanation import ContextExplanation
from semblance_lab.origin.scoring.scoring import FORMS, TERMS, Form, relative_terms, scores, similarity
from tests.support.project import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "origin.json").read_text())
V1, V2 = (np.array(GOLDEN[name], np.float64) for name in ("v1", "v2"))

FEW = settings(max_examples=20)
logs = st.floats(-20, -1e-3)
weights = st.tuples(*[st.floats(0, 5)] * 4).filter(lambda each: max(each) > 1e-2)
explained_weights = st.tuples(*[st.sampled_from([0.0, 0.25, 1.0, 3.0])] * 4).filter(any)
rounded = logs.map(lambda each: round(each, 3))
explained_terms = st.integers(1, 12).flatmap(lambda n: st.tuples(*[arrays(np.float64, (n, 4), elements=rounded)] * 2))
terms = st.integers(2, 12).flatmap(lambda n: st.tuples(*[arrays(np.float64, (n, 4), elements=logs)] * 2))


def test_scores_and_similarity_of_the_worked_example() -> None:
    per_token = np.array(GOLDEN["log_likelihoods"]) / np.array(GOLDEN["lengths"])
    found = np.array([np.log(GOLDEN["probability"]), *per_token])
    for each in GOLDEN["scores"]:
        assert scores(found, each["weights"]) == pytest.approx(each["score"], abs=GOLDEN["tolerance"])
    assert similarity(V1, V2) == pytest.approx(GOLDEN["similarity"], abs=GOLDEN["tolerance"])


@FEW
@given(terms, weights)
def test_both_forms_match_scipy_within_their_bounds(pair: tuple[Doubles, Doubles], chosen: tuple[float, ...]) -> None:
    a, b = (scores(each, chosen) for each in pair)
    assert 0 <= similarity(a, b) <= 1
    assert -1 <= similarity(a, b, "centred") <= 1
    assert similarity(a, b) == pytest.approx(1 - float(cosine_distance(a, b)), abs=1e-9)
    assume(min(np.ptp(a), np.ptp(b)) > 1e-3)
    assert similarity(a, b, "centred") == pytest.approx(pearsonr(a, b).statistic, abs=1e-9)


@FEW
@given(terms, weights, st.floats(1e-2, 100), st.sampled_from(FORMS))
def test_similarity_is_symmetric_reflexive_and_scale_invariant(
    pair: tuple[Doubles, Doubles], chosen: tuple[float, ...], factor: float, form: Form
) -> None:
    a, b = (scores(each, chosen) for each in pair)
    assume(np.ptp(a) > 1e-3)
    assume(np.ptp(b) > 1e-3)
    assert similarity(a, a, form) == pytest.approx(1, abs=1e-12)
    assert similarity(a, b, form) == similarity(b, a, form)
    more = [factor * w for w in chosen]
    assert similarity(scores(pair[0], more), scores(pair[1], more), form) == pytest.approx(
        similarity(a, b, form), abs=1e-9
    )


@FEW
@given(terms, weights, st.data())
def test_double_centred_scores_ignore_what_is_likely_for_all(
    pair: tuple[Doubles, Doubles], chosen: tuple[float, ...], data: st.DataObject
) -> None:
    """Numbers of a context, added to all sentences in it, and of a sentence, added in all contexts, cancel."""
    (a, b), n = pair, len(pair[0])
    others = data.draw(arrays(np.float64, (3, n, 4), elements=logs))
    of_context, of_sentence = (data.draw(arrays(np.float64, shape, elements=logs)) for shape in ((n, 3), (1, 3)))

    def score(*shifts: Doubles) -> float:
        first, second, rest = (each.copy() for each in (a, b, others))
        for shift in shifts:
            first[:, 1:] += shift
            if shift is of_context:
                second[:, 1:] += shift
                rest[:, :, 1:] += shift
        v1, v2 = (scores(relative_terms(each, rest), chosen) for each in (first, second))
        assume(min(np.ptp(v1), np.ptp(v2)) > 1e-3)
        return similarity(v1, v2, "double_centred")

    assert score(of_context) == pytest.approx(score(), abs=1e-6)
    assert score(of_context, of_sentence) == pytest.approx(score(), abs=1e-6)


def test_coherence_counts_by_its_log_odds_in_relative_terms() -> None:
    """A log-probability of 0 in float32 counts as the largest log-odds that float32 tells apart."""
    logits = np.array([-9.0, 0.0, 2.0, 15.0, 50.0])
    found = relative_terms(
        np.stack([-np.logaddexp(0, -logits), *np.zeros((3, 5))], axis=1), np.log([[[0.5, 1, 1, 1]] * 5])
    )
    assert found[:4, 0] == pytest.approx(logits[:4], abs=1e-6)
    assert found[4, 0] == pytest.approx(16.1, abs=0.1)
    assert not found[:, 1:].any()


def test_vectors_without_direction_have_similarity_zero() -> None:
    assert similarity(np.zeros(3), np.array([-1.0, -2, -3])) == 0
    assert similarity(np.full(3, -0.1), np.array([-1.0, -2, -3]), "centred") == 0


@pytest.mark.parametrize("refused", [(0, 0, 0, 0), (1, 1, 1, -0.1), (1, 1, 1), (1, 1, 1, np.nan), (1, 1, 1, np.inf)])
def test_invalid_weights_are_refused(refused: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="4 weights"):
        scores(V1[None], refused)
    with pytest.raises(ValueError, match="weights"):
        ContextSettings.model_validate({"weights": refused})


def explanation(pair: tuple[Doubles, Doubles], chosen: tuple[float, ...], form: Form) -> ContextExplanation:
    return ContextExplanation.of(np.arange(len(pair[0])) + 10, *pair, chosen, form)


@FEW
@given(explained_terms, explained_weights, st.sampled_from(FORMS))
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
@given(explained_terms, explained_weights)
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
