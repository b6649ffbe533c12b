"""Long texts are scored by their mean or their nearest passages, and explanations sum to the score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models import catalogue
from semblance.models.embeddings import TokenEmbeddings, join_passages
from semblance.models.explanation import difference_parts
from semblance.models.nearest_passages import (
    explain_passages,
    nearest_passages,
    score_pair,
    score_passage_pairs,
    score_passages,
)
from semblance.models.protocols import Explainable
from semblance.models.text import TokenizedText

DIM = 5


def passage(seed: int, words: int, text: str, start: int) -> TokenEmbeddings:
    """A passage of one-letter words between two special tokens, with random vectors and unit pooled vector."""
    random = np.random.default_rng(seed)
    places = start + 2 * np.arange(words)
    spans = np.concatenate([[[0, 0]], np.stack([places, places + 1], axis=1), [[0, 0]]]).astype(np.int32)
    numbers = np.concatenate([[-1], np.arange(words), [-1]]).astype(np.int32)
    vectors = random.normal(size=(words + 2, DIM)).astype(np.float32)
    tokens = TokenizedText(text, numbers, spans, numbers, is_passage=True)
    return TokenEmbeddings(vectors, np.ones(words + 2, np.float32), tokens).finalized("tokens", normalize=True)


def long_text(seed: int, lengths: list[int]) -> TokenEmbeddings:
    text = " ".join("w" * sum(lengths))
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1] * 2
    return join_passages(
        [passage(seed + i, n, text, int(at)) for i, (n, at) in enumerate(zip(lengths, starts, strict=True))]
    )


lengths = st.lists(st.integers(1, 6), min_size=1, max_size=4)
seeds = st.integers(0, 1000)


@given(seeds, lengths, lengths)
def test_explanations_of_long_texts_sum_to_their_scores(seed: int, left: list[int], right: list[int]) -> None:
    a, b = long_text(seed, left), long_text(seed + 50, right)
    for name in catalogue.measures():
        measure = catalogue.similarity(name)
        if isinstance(measure, Explainable) and not hasattr(measure, "package"):
            explanation = explain_passages(measure, a, b)
            total = explanation.contribution.sum() + explanation.special + explanation.omitted
            assert total == pytest.approx(explanation.score, abs=1e-6)
            assert explanation.score == pytest.approx(score_pair(measure, a, b), abs=1e-6)
            by_word = explanation.by_word()
            assert {a.text.text[unit.start : unit.end] for unit in by_word.left} == {"w"}  # type: ignore[union-attr]


@given(seeds, lengths)
def test_pooled_vector_is_the_mean_weighted_by_tokens(seed: int, sizes: list[int]) -> None:
    whole = long_text(seed, sizes)
    expected = np.average([each.pooled() for each in whole.passages], axis=0, weights=sizes)
    assert whole.pooled() == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    assert len(whole) == sum(sizes) + 2 * len(sizes)
    assert whole.text is not None
    assert [unit.start for unit in whole.text.units()] == list(range(0, 2 * sum(sizes), 2))
    assert (np.diff([unit.word for unit in whole.text.units()]) == 1).all()


def test_pooled_vector_keeps_the_mean_length() -> None:
    parts = [replace(part, pooled_vector=3 * part.pooled()) for part in long_text(1, [2, 5]).passages]
    assert np.linalg.norm(join_passages(parts).pooled()) == pytest.approx(3, abs=1e-6)


@given(seeds, lengths, lengths)
def test_nearest_passages_have_the_largest_cosine(seed: int, left: list[int], right: list[int]) -> None:
    a, b = long_text(seed, left), long_text(seed + 50, right)
    cosine = catalogue.similarity("cosine")
    best = max(cosine.score(one, other) for one in a.passages for other in b.passages)
    assert cosine.score(*nearest_passages(a, b)) == pytest.approx(best, abs=1e-9)


def test_links_of_cosine_are_its_parts_over_the_whole_text() -> None:
    a, b = long_text(3, [4, 2, 5]), long_text(9, [3, 3])
    near = nearest_passages(a, b)
    weights = [
        np.concatenate(
            [np.full(len(part), (len(part) - 2) / np.linalg.norm(part.mean()) / len(part)) for part in each.passages]
        )
        for each in (a, b)
    ]
    # the mean of unit passages as a mean of tokens: each has the weight of its passage
    flat = [
        TokenEmbeddings(each.vectors, own.astype(np.float32), each.text)
        for each, own in zip((a, b), weights, strict=True)
    ]
    cosine = catalogue.explainable("cosine")
    whole, short = cosine.explain(*flat), explain_passages(cosine, a, b)
    assert whole.score == pytest.approx(short.score, abs=1e-6)
    rows = [list(whole.left.spans[:, 0]).index(unit.start) for unit in short.left]
    columns = [list(whole.right.spans[:, 0]).index(unit.start) for unit in short.right]
    assert short.contribution == pytest.approx(whole.contribution[np.ix_(rows, columns)], abs=1e-6)
    assert (len(short.left), len(short.right)) == (len(near[0]) - 2, len(near[1]) - 2)


def test_scores_of_many_agree_with_scores_of_pairs() -> None:
    texts = [long_text(1, [3, 4]), passage(7, 5, "w w w w w", 0), long_text(20, [2]), long_text(30, [6, 1, 2])]
    for name in ("cosine", "rcmd", "rcmd1_words", "max_pooled_cosine", "negative_euclidean"):
        measure = catalogue.similarity(name)
        pairs = [[score_pair(measure, a, b) for b in texts] for a in texts]
        assert score_passage_pairs(measure, texts, texts) == pytest.approx(np.array(pairs), abs=1e-6)
        assert score_passages(measure, texts[0], texts) == pytest.approx(np.array(pairs[0]), abs=1e-6)


def test_differences_of_scores_may_have_different_passages_of_the_query() -> None:
    query, rcmd = long_text(1, [3, 3]), catalogue.explainable("rcmd")
    documents = [
        replace(part, pooled_vector=near.pooled())
        for part, near in zip([passage(70, 4, "w w w w", 0), passage(80, 2, "w w", 0)], query.passages, strict=True)
    ]
    a, b = (explain_passages(rcmd, query, document).by_word() for document in documents)
    assert list(a.left) != list(b.left)
    parts = difference_parts(a, b)
    assert sum(part.difference for part in parts) == pytest.approx(a.score - b.score, abs=1e-9)
    assert [part.unit.start for part in parts if part.unit] == [0, 2, 4, 6, 8, 10]
