"""Origin against its definition, computed one sentence and one context at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr

from semblance.models.embeddings import Doubles
from semblance.models.errors import BadTexts
from semblance_lab.origin.errors import BadCorpus
from semblance_lab.origin.scoring.scoring import ABLATIONS, FORMS, FULL, TERMS, Ablation, Form, scores
from tests.lab.origin.counting_models import TEXTS, Counted
from tests.lab.origin.scoring.test_contexts import jaccard

PAIRS = list(combinations(TEXTS, 2))


def holding(counted: Counted, text: str) -> set[int]:
    """The contexts that contain the text itself."""
    own = " ".join(text.lower().split())
    at = [i for i, sentence in enumerate(counted.corpus.lines) if sentence == own]
    return {i + step for i in at for step in (-1, 0, 1)}


def set_by_definition(counted: Counted, text: str, weights: tuple[float, ...]) -> tuple[list[int], int]:
    """The contexts, and how many are of screened chunks."""
    corpus, settings = counted.corpus, counted.contexts
    chunks = set(counted.screening.chunks(text, settings.chunks)[0].tolist())
    free = [i for i in corpus.contexts().tolist() if corpus.chunk[i] in chunks and i not in holding(counted, text)]
    by_coherence = sorted(free, key=lambda i: (-np.float32(counted.terms(text, i)[0]), i))
    ranked = by_coherence[: settings.size * settings.candidates]
    taken: list[int] = []
    screened: list[int] = []
    for tier in (ranked, topping(counted, text, ranked)):
        score = {i: float(np.array(counted.terms(text, i), np.float32).astype(np.float64) @ weights) for i in tier}
        for i in sorted(tier, key=lambda i: -score[i]):
            previous = corpus.lines[i - 1]
            alike = settings.overlap < 1 and any(
                jaccard(previous, corpus.lines[j - 1]) >= settings.overlap for j in taken
            )
            if not alike and corpus.chunk[i] not in corpus.chunk[taken]:
                taken.append(i)
                screened += [i] if tier is ranked else []
    return taken[: settings.size], min(len(screened), settings.size)


def topping(counted: Counted, text: str, ranked: list[int]) -> list[int]:
    """The contexts of the nearest sentences, one per other chunk, if a set lacks some."""
    corpus, settings = counted.corpus, counted.contexts
    lacks = settings.candidates * (settings.size - len({int(corpus.chunk[i]) for i in ranked}))
    [row] = counted.words.encode([text], 9)
    chunks, found = {int(corpus.chunk[i]) for i in ranked}, []
    for i in counted.ranking.nearest([row], 999)[0].tolist():
        if i in corpus.contexts() and i not in holding(counted, text) and int(corpus.chunk[i]) not in chunks:
            chunks.add(int(corpus.chunk[i]))
            found.append(i)
    return found[: max(0, lacks)]


def similarity_by_definition(counted: Counted, a: str, b: str, form: Form, ablation: Ablation = FULL) -> float:
    weights = tuple(0.0 if name in ablation.without else 1.0 for name in TERMS)
    joined = [i for text in (a, b) for i in set_by_definition(counted, text, weights)[0]]
    if form == "double_centred":
        others = counted.origin.references
        assert len(others) == counted.contexts.references
        v1, v2, *rest = (
            np.array([np.dot(odds(counted, text, i), weights) for i in joined]) for text in (a, b, *others)
        )
        mean = np.mean(rest, axis=0)
        return float(pearsonr(v1 - mean, v2 - mean).statistic)
    v1, v2 = (np.array([np.dot(counted.terms(text, i), weights) for i in joined]) for text in (a, b))
    if form == "centred":
        return float(pearsonr(v1, v2).statistic)
    return float(v1 @ v2 / np.sqrt((v1 @ v1) * (v2 @ v2)))


def odds(counted: Counted, text: str, context: int) -> tuple[float, ...]:
    """Terms with log-odds in place of the log-probability."""
    coherence, *others = counted.terms(text, context)
    return (math.log(math.exp(coherence) / (1 - math.exp(coherence))), *others)


def all_similarities(counted: Counted, form: Form, ablation: Ablation = FULL) -> Doubles:
    return counted.origin.similarities([a for a, _ in PAIRS], [b for _, b in PAIRS], form, ablation)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"candidates": 1, "size": 3, "chunks": 99, "overlap": 1.0},  # excluded contexts leave no gap
        {"chunks": 2, "overlap": 1.0},  # topped up
        {"chunks": 1, "size": 99, "overlap": 1.0},  # as large as the corpus allows
    ],
)
def test_context_sets_match_the_definition(settings: Mapping[str, Any]) -> None:
    counted = Counted(**settings)
    texts = [*TEXTS, *counted.corpus.lines[::3]]
    for text, found in zip(texts, counted.origin.context_sets(texts), strict=True):
        contexts, screened = set_by_definition(counted, text, (1, 1, 1, 1))
        assert found.contexts.tolist() == contexts
        assert (found.topped_up, found.fallback) == (0 < screened < len(contexts), screened == 0)
        assert found.terms == pytest.approx(np.array([counted.terms(text, i) for i in found.contexts]), abs=1e-6)
        assert found.topped_up or np.all(np.diff(scores(found.terms, (1, 1, 1, 1))) <= 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ablation", [FULL, *(ABLATIONS[f"without_{name}"] for name in (*TERMS, "sides"))])
def test_similarities_match_the_definition_even_without_a_term(form: Form, ablation: Ablation) -> None:
    counted = Counted()
    found = all_similarities(counted, form, ablation)
    for (a, b), score in zip(PAIRS, found, strict=True):
        if TEXTS[5] not in (a, b):
            assert score == pytest.approx(similarity_by_definition(counted, a, b, form, ablation), abs=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ablation", [FULL, *ABLATIONS.values()])
def test_every_variant_is_symmetric_and_reflexive(form: Form, ablation: Ablation) -> None:
    origin = Counted().origin
    left, right = (list(side) for side in zip(*PAIRS, strict=True))
    assert origin.similarities(left, right, form, ablation) == pytest.approx(
        origin.similarities(right, left, form, ablation), abs=1e-12
    )
    known_texts = TEXTS[:5]  # unknown words may score the same in all contexts
    assert origin.similarities(known_texts, known_texts, form, ablation) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_models_with_a_weight_of_zero_are_not_called(form: Form) -> None:
    alone = Counted(weights=(1, 0, 0, 0))
    found = all_similarities(alone, form)
    assert alone.generation.calls == 0
    assert found == pytest.approx(all_similarities(Counted(), form, Ablation(without=frozenset(TERMS[1:]))), abs=1e-12)


def test_scores_do_not_depend_on_the_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    together = all_similarities(Counted(), "centred")
    monkeypatch.setattr("semblance_lab.origin.scoring.origin.PAIRS_PER_BATCH", 1)
    monkeypatch.setattr("semblance_lab.origin.scoring.term_table.PAIRS_PER_BATCH", 7)
    counted = Counted()
    assert counted.origin.pairs_per_batch == 1
    assert counted.origin.similarities([], []).shape == (0,)
    assert all_similarities(counted, "centred") == pytest.approx(together, abs=1e-12)
    alone = [Counted().origin.similarities([a], [b], "centred")[0] for a, b in PAIRS]
    assert alone == pytest.approx(together, abs=1e-12)


def test_a_smaller_set_is_the_beginning_of_a_larger_one() -> None:
    large, small = Counted().origin, Counted(size=2, candidates=8).origin
    for text in TEXTS:
        [some], [own] = large.context_sets([text], Ablation(size=2)), small.context_sets([text])
        assert some.contexts.tolist() == large.context_sets([text])[0].contexts[:2].tolist()
        assert some.contexts.tolist() == own.contexts.tolist()


def test_contexts_containing_the_text_itself_are_excluded() -> None:
    counted = Counted()
    assert holding(counted, TEXTS[4]) >= {0, 1}
    for ablation in (FULL, *ABLATIONS.values(), Ablation(diverse=False)):
        [found] = counted.origin.context_sets(["The CAT ran away"], ablation)
        assert not holding(counted, "the cat ran away") & set(found.contexts.tolist())


def test_truncated_texts_are_reported() -> None:
    long, short = "the cat sat on the mat again", "a dog sat on the mat and then ran away"
    for ablation in (FULL, ABLATIONS["random"]):
        assert [each.truncated for each in Counted().origin.context_sets([long, short], ablation)] == [False, True]


def test_equal_texts_and_variants_share_the_cache() -> None:
    counted = Counted()
    again = [*TEXTS, *TEXTS]
    counted.origin.similarities(again, again[::-1])
    computed, ranked = counted.generation.calls, counted.ranking.calls
    assert ranked == len(TEXTS)
    counted.origin.similarities(again, again[::-1], "centred")
    counted.origin.similarities(TEXTS, TEXTS[::-1], "cosine", Ablation(size=2))
    assert (counted.generation.calls, counted.ranking.calls) == (computed, ranked)
    counted.origin.similarities(TEXTS, TEXTS, "cosine", ABLATIONS["without_left"])  # own contexts are candidates
    assert counted.generation.calls == computed


def test_terms_match_the_definition_even_after_cache_eviction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semblance_lab.origin.scoring.term_table.CACHED_TERMS", 9)
    counted = Counted()
    random = np.random.default_rng(3)
    for _ in range(6):
        texts = random.choice(TEXTS, 4).tolist()
        contexts = [random.permutation(counted.corpus.contexts())[: random.integers(1, 8)] for _ in texts]
        for text, own, found in zip(texts, contexts, counted.origin.terms(texts, contexts), strict=True):
            assert found == pytest.approx(np.array([counted.terms(text, i) for i in own]), abs=1e-6)


def test_random_contexts_depend_on_the_text_only() -> None:
    one, other = (Counted().origin.context_sets(TEXTS[:2], ABLATIONS["random"]) for _ in range(2))
    assert [each.contexts.tolist() for each in one] == [each.contexts.tolist() for each in other]
    assert one[0].contexts.tolist() != one[1].contexts.tolist()
    assert len(set(one[0].contexts.tolist())) == 5


def test_without_diversity_contexts_are_the_best_by_score() -> None:
    origin = Counted(candidates=4).origin
    free = Counted(candidates=4, overlap=1.0).origin
    for text in TEXTS[:4]:
        [found], [wide] = origin.context_sets([text], ABLATIONS["without_diversity"]), free.context_sets([text])
        assert len(set(origin.corpus.chunk[found.contexts])) < len(found) <= 5
        chunks = Counted().screening.chunks(text, 12)[0]
        ours, theirs = (
            scores(each.terms, (1, 1, 1, 1))[np.isin(origin.corpus.chunk[each.contexts], chunks)]
            for each in (found, wide)
        )
        assert np.all(np.diff(ours) <= 0)
        assert np.all(ours[: len(theirs)] >= theirs)
        assert set(found.contexts) - set(wide.contexts)


@pytest.mark.parametrize("form", FORMS)
def test_explanations_sum_to_the_score_and_show_the_context(form: Form) -> None:
    counted = Counted()
    for a, b in PAIRS:
        found = counted.origin.explain(a, b, form)
        assert found.score == pytest.approx(counted.origin.similarities([a], [b], form)[0], abs=1e-9)
    top = counted.origin.reasons(found, 3)
    assert len(top) == 3
    assert top[0].contribution == max(found.by_context)
    for each in top:
        sentences = counted.corpus.lines
        assert (each.left, each.right) == (sentences[each.context - 1], sentences[each.context + 1])


def test_a_corpus_of_the_text_itself_is_refused() -> None:
    origin = Counted(("one two . three four . five six .",)).origin
    assert origin.similarities(["one two x"], ["seven"])[0] == pytest.approx(1)  # one context, of either
    for ablation in (FULL, ABLATIONS["random"]):
        with pytest.raises(BadCorpus, match="Three four"):
            origin.context_sets(["Three four"], ablation)


def test_invisible_texts_are_refused() -> None:
    with pytest.raises(BadTexts) as refused:
        Counted().origin.context_sets(["fine", " \u200b", "\ud800"])
    assert [(each.index, each.code) for each in refused.value.problems] == [(1, "empty_text"), (2, "ill_formed_text")]
