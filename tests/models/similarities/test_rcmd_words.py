"""RCMD over the words of the texts: special tokens neither change the score nor carry a part of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.catalogue import explainable, similarity
from semblance.models.embeddings import TokenEmbeddings
from tests.support.plain_measures import without_special
from tests.support.token_matrices import token_embeddings

MEASURES = {"rcmd_words": "rcmd", "rcmd1_words": "rcmd1"}


def with_other_special_tokens(text: TokenEmbeddings, seed: int) -> TokenEmbeddings:
    """The text with random vectors for its special tokens, unless it has no others."""
    assert text.text is not None
    special = text.text.special
    vectors = text.vectors.copy()
    if not special.all():
        vectors[special] = np.random.default_rng(seed).normal(size=(special.sum(), vectors.shape[1]))
    return replace(text, vectors=vectors)


@pytest.mark.parametrize("name", MEASURES)
@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 2**32 - 1))
def test_special_tokens_do_not_change_the_score(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    changed = with_other_special_tokens(a, seed), with_other_special_tokens(b, seed + 1)
    assert similarity(name).score(*changed) == pytest.approx(similarity(name).score(a, b), abs=1e-6)


@pytest.mark.parametrize(("name", "with_special"), MEASURES.items())
@given(a=token_embeddings(), b=token_embeddings())
def test_without_special_tokens_the_scores_are_those_of_the_paper(
    name: str, with_special: str, a: TokenEmbeddings, b: TokenEmbeddings
) -> None:
    expected = similarity(with_special).score(without_special(a), without_special(b))
    assert similarity(name).score(a, b) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", MEASURES)
@given(a=token_embeddings(), b=token_embeddings())
def test_all_of_the_score_comes_from_words(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    assert a.text is not None
    assert b.text is not None
    if a.text.special.all() or b.text.special.all():
        return
    explanation = explainable(name).explain(a, b)
    assert explanation.special == pytest.approx(0, abs=1e-9)
    assert explanation.contribution.sum() == pytest.approx(explanation.score, abs=1e-6)
