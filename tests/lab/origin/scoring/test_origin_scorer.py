"""Variants of Origin as measures of an evaluation and as a teacher, and the variance of its scores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from semblance.models.errors import BadCheckpoint, NotExplainable, UnknownName
from semblance_lab.evaluation.tasks import Retrieval
from semblance_lab.origin.harvest.harvest import OriginTeacher, model_digests
from semblance_lab.origin.scoring.origin import Origin
from semblance_lab.origin.scoring.origin_scorer import OriginScorer
from semblance_lab.origin.scoring.scoring import ABLATIONS, FORMS, TERMS, Ablation, Variant, find_variant
from semblance_lab.origin.scoring.variance import decompose_variance, variance_by_term
from tests.lab.origin.counting_models import TEXTS, Counted
from tests.lab.origin.scoring.test_origin import PAIRS
from tests.support.no_progress import no_progress
from tests.support.text_files import write

Item = TypeVar("Item")

LEFT, RIGHT = ([pair[side] for pair in PAIRS] for side in (0, 1))


def scorer(counted: Counted) -> OriginScorer:
    return OriginScorer(counted.origin, "counted", no_progress)


def test_every_variant_is_found_by_its_unique_name() -> None:
    names = [find_variant(name, form).name for name in ABLATIONS for form in FORMS]
    assert len({*names, *FORMS}) == len(FORMS) * (len(ABLATIONS) + 1)
    for name in names:
        assert find_variant(name).name == name
    assert find_variant("cosine", "centred") == Variant("cosine")
    random = Variant("centred", Ablation(random=True))
    assert find_variant("random", "centred") == find_variant("random_centred") == random
    assert find_variant("without_sides_cosine").ablation.remaining_weights((1, 2, 3, 4)) == (1, 2, 0, 0)
    for unknown in ("random", "without_sense_cosine", "", "_cosine"):
        with pytest.raises(UnknownName, match="variants of Origin"):
            find_variant(unknown)


def test_scores_match_origin_and_compute_each_term_once() -> None:
    counted = Counted()
    names = [*FORMS, *(f"{name}_cosine" for name in ABLATIONS if not name.startswith("contexts"))]
    found = scorer(counted).scores(names, LEFT, RIGHT)
    computed = counted.generation.calls
    for name in names:
        each = find_variant(name)
        assert found[name] == pytest.approx(Counted().origin.similarities(LEFT, RIGHT, each.form, each.ablation))
    contexts = len(counted.corpus.contexts())
    assert computed <= 3 * len({*TEXTS, *counted.origin.references}) * contexts
    scorer(counted).scores(names, RIGHT, LEFT)
    assert counted.generation.calls == computed


def test_an_interrupted_evaluation_resumes_with_the_next_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if killed between two batches, and started again with one more variant."""
    monkeypatch.setattr(Origin, "pairs_per_batch", 2)
    names = ["centred", "random_cosine"]
    first, begun = Counted(), list[object]()

    def track(items: Sequence[Item], what: str) -> Iterator[Item]:
        del what
        for item in items:
            begun.append(item)
            if len(begun) == 2:
                raise KeyboardInterrupt
            yield item

    with pytest.raises(KeyboardInterrupt):
        OriginScorer(first.origin, "counted", track, tmp_path).scores(names, LEFT, RIGHT)
    resumed, uninterrupted = Counted(), Counted()
    second = OriginScorer(resumed.origin, "counted", no_progress, tmp_path)
    expected = scorer(uninterrupted)
    for wanted in (names, [*names, "cosine"]):
        found, computed = second.scores(wanted, LEFT, RIGHT), expected.scores(wanted, LEFT, RIGHT)
        assert found.keys() == computed.keys()
        for name, each in found.items():
            np.testing.assert_array_equal(each, computed[name])
        assert second.summaries == expected.summaries
    assert 0 < first.generation.calls < uninterrupted.generation.calls
    assert resumed.generation.calls < uninterrupted.generation.calls


def test_a_damaged_batch_is_named(tmp_path: Path) -> None:
    stored = OriginScorer(Counted().origin, "counted", no_progress, tmp_path)
    stored.scores(["cosine"], LEFT, RIGHT)
    for file in tmp_path.iterdir():
        file.write_text("[1,", "utf-8")
    with pytest.raises(BadCheckpoint, match=str(tmp_path)):
        stored.scores(["cosine"], LEFT, RIGHT)


def test_variants_with_larger_sets_are_refused() -> None:
    with pytest.raises(UnknownName, match="5 contexts"):
        scorer(Counted()).variants(["cosine", "contexts_20_cosine"])


def test_links_and_search_are_refused() -> None:
    with pytest.raises(NotExplainable, match="origin explain"):
        scorer(Counted()).links(["cosine"], ["a"], ["b"], "word")
    with pytest.raises(NotExplainable, match="surrogate"):
        scorer(Counted()).search(["cosine"], Retrieval({}, {}, {}), 3)


def test_variance_shares_are_those_of_the_components() -> None:
    random = np.random.default_rng(8)
    sentence, context, both = random.normal(size=(6, 1)), 2 * random.normal(size=9), random.normal(size=(6, 9))
    sentence -= sentence.mean()
    context -= context.mean()
    both -= both.mean(axis=0)
    both -= both.mean(axis=1, keepdims=True)
    scores = -5 + sentence + context + both
    found, total = decompose_variance(scores), np.var(scores)
    assert found.sentence == pytest.approx(np.var(sentence) / total)
    assert found.context == pytest.approx(np.var(context) / total)
    assert found.both == pytest.approx(np.var(both) / total)
    assert found.level == pytest.approx(25 / np.mean(scores**2))
    pairs = np.asarray(np.corrcoef(scores))[np.triu_indices(6, 1)]
    assert found.centred == pytest.approx((pairs.mean(), pairs.std()))


def test_scores_that_depend_on_contexts_only_correlate_perfectly() -> None:
    found = decompose_variance(np.array([[-1.0, -3, -2], [-11, -13, -12]]))
    assert found.both == pytest.approx(0)
    assert found.centred == pytest.approx((1, 0))
    assert found.cosine[0] < 1
    equal = decompose_variance(np.full((2, 2), -1.0))
    assert (equal.sentence, equal.context, equal.both, equal.level) == (0, 0, 0, 1)
    assert equal.cosine == pytest.approx((1, 0))


def test_the_variance_by_term_is_that_of_the_scores() -> None:
    counted = Counted()
    texts = [*TEXTS[:4], *TEXTS[:2]]
    found = variance_by_term(counted.origin, texts)
    assert list(found) == ["all terms", *TERMS]
    assert list(variance_by_term(Counted(weights=(1, 0, 2, 0)).origin, texts)) == ["all terms", "coherence", "left"]
    contexts = [i for each in counted.origin.context_sets(TEXTS[:4]) for i in each.contexts]
    terms = np.array([[counted.terms(text, i) for i in contexts] for text in TEXTS[:4]])
    for name, scores in (("all terms", terms.sum(axis=2)), ("left", terms[:, :, 2])):
        means = scores.mean(axis=0)
        assert found[name].context == pytest.approx(np.var(means) / np.var(scores), abs=1e-5)
        assert found[name].sentence + found[name].context + found[name].both == pytest.approx(1)


def test_the_teacher_gives_the_scores_of_origin() -> None:
    for weights in ((1, 1, 1, 1), (0.5, 1, 0, 2)):
        counted = Counted(weights=weights)
        result = OriginTeacher(counted.origin, {}).all_pairs(TEXTS)
        pairs = list(product(TEXTS, repeat=2))
        alone = Counted(weights=weights).origin
        for form in FORMS:
            expected = alone.similarities([a for a, _ in pairs], [b for _, b in pairs], form)
            np.testing.assert_allclose(result.scores[form].ravel(), expected, atol=1e-9)
        assert result.fallback.tolist() == [each.fallback for each in alone.context_sets(TEXTS)]


def test_the_provenance_of_a_teacher_contains_files_and_settings(tmp_path: Path) -> None:
    names = ("corpus/train.arrow", "vocabulary/tokenizer.json", "coherence/model.safetensors")
    for name in (*names, "generation/all/model.safetensors", "generation/notes.txt"):
        write(tmp_path / name, "before")
    found = model_digests(tmp_path)
    assert sorted(found) == ["coherence/model.safetensors", "generation/all/model.safetensors"]
    about = json.loads(json.dumps(OriginTeacher(Counted(size=4).origin, found).about()))
    assert about["contexts"]["size"] == 4
    assert about["contexts"]["weights"] == pytest.approx((1, 1, 1, 1))
    write(tmp_path / "generation/all/model.safetensors", "after")
    assert [name for name, digest in model_digests(tmp_path).items() if about["files"][name] != digest] == [
        "generation/all/model.safetensors"
    ]
