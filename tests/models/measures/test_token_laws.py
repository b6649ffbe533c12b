"""Laws that several measures share: what of the tokens changes a score, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ortho_group

from semblance.models.alignment.transport import average_pooling_plan
from semblance.models.catalogue import explainable, similarity
from semblance.models.embeddings import TokenEmbeddings
from tests.support.token_matrices import embeddings_of, token_embeddings

DYNAMAX = ("dynamax_jaccard", "dynamax_otsuka", "dynamax_dice", "dynamax_cosine")
FUZZY = (*DYNAMAX, "max_pooled_jaccard", "max_pooled_cosine", "soft_cardinality")
COSINES = ("cmd", "rcmd", "rcmd1", "rcmd2", "bertscore_f1")
TRANSPORTS = (*COSINES, "word_movers", "relaxed_word_movers")

any_pair = given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 2**32 - 1))


def score(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
    return similarity(name).score(a, b)


def special_of(a: TokenEmbeddings) -> list[bool]:
    assert a.text is not None
    return [bool(special) for special in a.text.special]


def with_vectors(a: TokenEmbeddings, vectors: NDArray[np.floating[Any]]) -> TokenEmbeddings:
    return replace(a, vectors=vectors.astype(np.float32))


@pytest.mark.parametrize("name", [*TRANSPORTS, *FUZZY])
@any_pair
def test_the_order_of_tokens_does_not_count(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(a))
    special = special_of(a)
    moved = embeddings_of(a.vectors[order], [special[i] for i in order], a.weights[order])
    assert score(name, moved, b) == pytest.approx(score(name, a, b), abs=1e-9 if name in FUZZY else 1e-6)


@pytest.mark.parametrize("name", [*TRANSPORTS, *DYNAMAX, "soft_cardinality", "cosine", "negative_euclidean"])
@any_pair
def test_a_common_rotation_does_not_count(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    """Except for a cosine whose tokens cancel, so that the direction of a pooled vector is rounding noise."""
    assume(name != "cosine" or average_pooling_plan(a, b).max() < 1e3)
    turn = ortho_group.rvs(4, random_state=seed)
    turned = [with_vectors(side, side.vectors @ turn) for side in (a, b)]
    assert score(name, *turned) == pytest.approx(score(name, a, b), abs=1e-5 if name in FUZZY else 2e-5)


@pytest.mark.parametrize("name", COSINES)
@any_pair
def test_lengths_do_not_count_among_cosines(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    factors = np.random.default_rng(seed).uniform(0.25, 8, (len(a), 1))
    assert score(name, with_vectors(a, a.vectors * factors), b) == pytest.approx(score(name, a, b), abs=2e-5)


@pytest.mark.parametrize("name", DYNAMAX)
@given(a=token_embeddings(), b=token_embeddings(), factor=st.floats(0.125, 8, width=32), sign=st.sampled_from([1, -1]))
def test_a_common_factor_of_any_sign_does_not_change_dynamax(
    name: str, a: TokenEmbeddings, b: TokenEmbeddings, factor: float, sign: int
) -> None:
    scaled = [with_vectors(side, side.vectors * np.float32(sign * factor)) for side in (a, b)]
    assert score(name, *scaled) == pytest.approx(score(name, a, b), abs=1e-5)


@pytest.mark.parametrize("name", TRANSPORTS)
@any_pair
def test_transport_ignores_token_weights(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    del seed
    plain = [embeddings_of(side.vectors, special_of(side)) for side in (a, b)]
    assert score(name, *plain) == score(name, a, b)


@pytest.mark.parametrize("name", ["partial_transport", "unbalanced_transport", "rcmd_words", "rcmd1_words"])
@any_pair
def test_special_tokens_do_not_count_among_words(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    rng, changed = np.random.default_rng(seed), []
    for side in (a, b):
        special = np.array(special_of(side))
        assume(not special.all())
        changed.append(with_vectors(side, np.where(special[:, None], rng.normal(size=(len(side), 4)), side.vectors)))
    expected = score(name, a, b)
    assert score(name, *changed) == pytest.approx(expected, rel=0, abs=1e-6 if name.startswith("rcmd") else 0)
    assert explainable(name).explain(a, b).special == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", [*FUZZY, "word_movers", "relaxed_word_movers", "negative_manhattan"])
@given(a=token_embeddings())
def test_identical_texts_have_the_maximum_score_for_any_numbers(name: str, a: TokenEmbeddings) -> None:
    """An empty fuzzy set scores 0: of zeros and, with maximum pooling, of numbers that are not positive."""
    if name in FUZZY:
        maximum = float((a.vectors > 0).any() if name.startswith("max") else a.vectors.any())
        assert score(name, a, a) == pytest.approx(maximum, abs=1e-12)
    else:
        assert score(name, a, a) == 0.0
        assert np.copysign(1.0, score(name, a, a)) == 1.0, "JSON would show a negative zero"


@pytest.mark.parametrize("name", [*TRANSPORTS, *FUZZY])
def test_pooled_vectors_alone_are_rejected(name: str) -> None:
    pooled = TokenEmbeddings(
        np.zeros((0, 2), np.float32), np.zeros(0, np.float32), pooled_vector=np.ones(2, np.float32)
    )
    whole = embeddings_of(np.ones((1, 2), np.float32))
    for a, b in ((pooled, whole), (whole, pooled)):
        with pytest.raises(ValueError, match=r"only the pooled vector is present|have no text"):
            score(name, a, b)
