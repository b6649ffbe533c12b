"""Variants of Origin as measures of an evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.models.errors import NotExplainable, UnknownName
from semblance.models.evaluation.evaluation import evaluate
from semblance.models.evaluation.statistics.bootstrap import Resampling
from semblance.models.evaluation.tasks import GradedPairs, Retrieval
from semblance.models.origin.scoring.ablations import CHOICES, Choice, Variant, variant
from semblance.models.origin.scoring.origin_scorer import OriginScorer
from semblance.models.origin.scoring.scoring import FORMS, TERMS
from semblance.models.origin.scoring.variance import spread, spreads
from tests.models.origin.counted import TEXTS, Counted
from tests.models.origin.test_origin import PAIRS
from tests.support.untracked import untracked

LEFT, RIGHT = ([pair[side] for pair in PAIRS] for side in (0, 1))


def scorer(counted: Counted) -> OriginScorer:
    return OriginScorer(counted.origin, "counted", untracked)


def test_every_variant_has_a_name_of_its_own_that_finds_it() -> None:
    names = [variant(name, form).name for name in CHOICES for form in FORMS]
    assert len({*names, *FORMS}) == len(FORMS) * (len(CHOICES) + 1)
    for name in names:
        assert variant(name).name == name
    assert variant("cosine", "centred") == Variant("cosine")
    assert variant("random", "centred") == variant("random_centred") == Variant("centred", Choice(random=True))
    assert variant("without_sides_cosine").choice.kept((1, 2, 3, 4)) == (1, 2, 0, 0)
    for unknown in ("random", "without_sense_cosine", "", "_cosine"):
        with pytest.raises(UnknownName, match="variants of Origin"):
            variant(unknown)


def test_scores_are_those_of_origin_and_every_term_is_computed_once() -> None:
    counted = Counted()
    names = [*FORMS, *(f"{name}_cosine" for name in CHOICES if not name.startswith("contexts"))]
    found = scorer(counted).scores(names, LEFT, RIGHT)
    asked = counted.generation.asked
    for name in names:
        each = variant(name)
        assert found[name] == pytest.approx(Counted().origin.similarities(LEFT, RIGHT, each.form, each.choice))
    contexts = len(counted.corpus.contexts())
    assert asked <= 3 * len(TEXTS) * contexts
    scorer(counted).scores(names, RIGHT, LEFT)
    assert counted.generation.asked == asked


def test_an_evaluation_compares_variants_with_the_first_on_the_same_resamples() -> None:
    task = GradedPairs(LEFT, RIGHT, list(range(len(PAIRS))), [""] * len(PAIRS))
    names = ["cosine", "centred", "random_cosine"]
    found = evaluate({"mine": task}, scorer(Counted()), names, Resampling(200), "cosine")
    assert found.about["model"] == "counted"
    assert found.about["contexts_size"] == "5"
    assert [each.measure for each in found.outcomes] == names
    assert found.outcomes[0].against is None
    for each in found.outcomes[1:]:
        assert each.against is not None
        assert each.against.baseline == "cosine"
        difference = each.figure("spearman").value - found.outcomes[0].figure("spearman").value
        assert each.against.value == pytest.approx(difference)


def test_larger_sets_than_there_are_are_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="5 contexts"):
        scorer(Counted()).variants(["cosine", "contexts_20_cosine"])


def test_what_it_cannot_do_it_says() -> None:
    with pytest.raises(NotExplainable, match="origin explain"):
        scorer(Counted()).links(["cosine"], ["a"], ["b"], "word")
    with pytest.raises(NotExplainable, match="surrogate"):
        scorer(Counted()).search(["cosine"], Retrieval({}, {}, {}), 3)


def test_shares_of_the_spread_are_those_that_the_scores_were_made_of() -> None:
    random = np.random.default_rng(8)
    sentence, context, both = random.normal(size=(6, 1)), 2 * random.normal(size=9), random.normal(size=(6, 9))
    sentence -= sentence.mean()
    context -= context.mean()
    both -= both.mean(axis=0)
    both -= both.mean(axis=1, keepdims=True)
    scores = -5 + sentence + context + both
    found, total = spread(scores), np.var(scores)
    assert found.sentence == pytest.approx(np.var(sentence) / total)
    assert found.context == pytest.approx(np.var(context) / total)
    assert found.both == pytest.approx(np.var(both) / total)
    assert found.level == pytest.approx(25 / np.mean(scores**2))
    pairs = np.asarray(np.corrcoef(scores))[np.triu_indices(6, 1)]
    assert found.centred == pytest.approx((pairs.mean(), pairs.std()))


def test_scores_that_are_the_contexts_own_make_all_sentences_alike() -> None:
    found = spread(np.array([[-1.0, -3, -2], [-11, -13, -12]]))
    assert found.both == pytest.approx(0)
    assert found.centred == pytest.approx((1, 0))
    assert found.cosine[0] < 1
    equal = spread(np.full((2, 2), -1.0))
    assert (equal.sentence, equal.context, equal.both, equal.level) == (0, 0, 0, 1)
    assert equal.cosine == pytest.approx((1, 0))


def test_the_spread_of_an_origin_is_that_of_its_scores() -> None:
    counted = Counted()
    texts = [*TEXTS[:4], *TEXTS[:2]]
    found = spreads(counted.origin, texts)
    assert list(found) == ["all terms", *TERMS]
    contexts = [i for each in counted.origin.context_sets(TEXTS[:4]) for i in each.contexts]
    terms = np.array([[counted.terms(text, i) for i in contexts] for text in TEXTS[:4]])
    for name, scores in (("all terms", terms.sum(axis=2)), ("left", terms[:, :, 2])):
        means = scores.mean(axis=0)
        assert found[name].context == pytest.approx(np.var(means) / np.var(scores), abs=1e-5)
        assert found[name].sentence + found[name].context + found[name].both == pytest.approx(1)
