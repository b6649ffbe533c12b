"""Laws of every measure in the catalogue."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from semblance.models import catalogue
from semblance.models.alignment.pairwise import score_all_pairs
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import Explanation, difference_parts
from semblance.models.protocols import Explainable
from tests.support.project import PROJECT
from tests.support.token_matrices import embeddings_of, token_embeddings

NAMES = catalogue.names("semblance.models.measures")
EXPLAINABLE = [name for name in NAMES if isinstance(catalogue.similarity(name), Explainable)]
COUNT_SPECIAL = ("pooled", "tokens")  # what measures need that count special tokens like others
BIBLIOGRAPHY = PROJECT / "references.bib"

every_measure = pytest.mark.parametrize("name", NAMES)
every_explainable = pytest.mark.parametrize("name", EXPLAINABLE)


def total(explanation: Explanation) -> float:
    return sum(link.contribution for link in explanation.links) + explanation.special + explanation.omitted


@every_measure
def test_name_bounds_and_reference_are_valid(name: str) -> None:
    measure = catalogue.similarity(name)
    assert measure.name == name
    low, high = measure.bounds
    assert low < high
    key = measure.reference.partition(",")[0]
    assert re.search(rf"^@\w+{{{re.escape(key)},", BIBLIOGRAPHY.read_text(), re.MULTILINE), (
        f"{key} is not in references.bib"
    )


@every_measure
@given(a=token_embeddings(), b=token_embeddings())
def test_scores_are_within_bounds(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    low, high = catalogue.similarity(name).bounds
    assert low <= catalogue.similarity(name).score(a, b) <= high


@pytest.mark.parametrize("name", [name for name in NAMES if catalogue.similarity(name).symmetric])
@given(a=token_embeddings(), b=token_embeddings())
def test_symmetric_measures_are_symmetric(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    measure = catalogue.similarity(name)
    assert measure.score(a, b) == pytest.approx(measure.score(b, a), abs=1e-6)


@every_measure
@given(a=token_embeddings())
def test_identical_texts_have_the_maximum_score(name: str, a: TokenEmbeddings) -> None:
    """Except for empty sets, which score 0.

    Those are fuzzy sets without positive membership, and texts without words. A measure without an upper bound (soft
    cardinality) scores 1 here, and more elsewhere.
    """
    measure = catalogue.similarity(name)
    assert a.text is not None
    assume(measure.needs in COUNT_SPECIAL or not a.text.special.all())
    positive = replace(a, vectors=np.abs(a.vectors) + np.float32(0.01))
    maximum = measure.bounds[1] if np.isfinite(measure.bounds[1]) else 1.0
    assert measure.score(positive, positive) == pytest.approx(maximum, abs=1e-5)


@every_measure
@given(query=token_embeddings(), candidates=st.lists(token_embeddings(), max_size=5))
def test_score_many_agrees_with_score(name: str, query: TokenEmbeddings, candidates: list[TokenEmbeddings]) -> None:
    measure = catalogue.similarity(name)
    many = measure.score_many(query, candidates)
    assert many.shape == (len(candidates),)
    assert many == pytest.approx([measure.score(query, candidate) for candidate in candidates], abs=1e-6)


@every_measure
@given(left=st.lists(token_embeddings(), max_size=4), right=st.lists(token_embeddings(), max_size=4))
def test_score_all_pairs_agrees_with_score(
    name: str, left: list[TokenEmbeddings], right: list[TokenEmbeddings]
) -> None:
    measure = catalogue.similarity(name)
    scores = score_all_pairs(measure, left, right)
    assert scores.shape == (len(left), len(right))
    single = [[measure.score(a, b) for b in right] for a in left]
    assert scores == pytest.approx(np.reshape(single, scores.shape), abs=1e-6)


@every_explainable
@given(a=token_embeddings(), b=token_embeddings(), limit=st.integers(0, 8))
def test_links_special_and_omitted_sum_to_the_score(
    name: str, a: TokenEmbeddings, b: TokenEmbeddings, limit: int
) -> None:
    measure = catalogue.similarity(name)
    assert isinstance(measure, Explainable)
    score, explanation = measure.score(a, b), measure.explain(a, b)
    words = explanation.by_word()
    for form in (explanation, words, explanation.strongest(limit), words.strongest(limit)):
        assert total(form) == pytest.approx(score, abs=1e-6)
        assert form.score == pytest.approx(score, abs=1e-6)
        assert np.isfinite(form.contribution).all()
        assert np.isfinite(form.similarity).all()


@every_explainable
@given(query=token_embeddings(), a=token_embeddings(), b=token_embeddings())
def test_parts_of_a_difference_sum_to_it(
    name: str, query: TokenEmbeddings, a: TokenEmbeddings, b: TokenEmbeddings
) -> None:
    measure = catalogue.similarity(name)
    assert isinstance(measure, Explainable)
    first, second = (measure.explain(query, each).by_word() for each in (a, b))
    parts = difference_parts(first, second)
    assert sum(part.difference for part in parts) == pytest.approx(first.score - second.score, abs=1e-9)
    assert sum(part.a.contribution for part in parts) == pytest.approx(first.score, abs=1e-9)
    assert sum(part.b.contribution for part in parts) == pytest.approx(second.score, abs=1e-9)
    assert [part.unit for part in parts if part.unit] == list(first.left)


@pytest.mark.parametrize("name", [name for name in EXPLAINABLE if catalogue.similarity(name).needs in COUNT_SPECIAL])
@given(a=token_embeddings(), b=token_embeddings())
def test_special_is_the_sum_over_pairs_with_special_tokens(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    """The oracle: the explanation without special marks, summed over pairs with a special token.

    Measures of words are excluded: they may treat special tokens differently, so that marking changes the explanation.
    """
    measure = catalogue.similarity(name)
    assert isinstance(measure, Explainable)
    assert a.text is not None
    assert b.text is not None
    plain = measure.explain(
        embeddings_of(a.vectors, weights=a.weights), embeddings_of(b.vectors, weights=b.weights)
    ).contribution
    touched = a.text.special[:, None] | b.text.special[None, :]
    assert measure.explain(a, b).special == pytest.approx(float(plain[touched].sum()), abs=1e-9)
    assert measure.explain(a, b).contribution == pytest.approx(
        plain[np.ix_(~a.text.special, ~b.text.special)], abs=1e-12
    )


@every_explainable
def test_exact_ties_go_to_the_lowest_index(name: str) -> None:
    a, b = embeddings_of(np.array([[1.0, 0.0]])), embeddings_of(np.array([[2.0, 0.0], [2.0, 0.0]]))
    measure = catalogue.similarity(name)
    assert isinstance(measure, Explainable)
    links = measure.explain(a, b).links
    assert (links[0].left, links[0].right) == (0, 0)
    assert sum(link.contribution for link in links) == pytest.approx(measure.score(a, b), abs=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if not catalogue.similarity(name).symmetric])
def test_asymmetric_measures_are_asymmetric(name: str) -> None:
    a, b = embeddings_of(np.array([[1.0, 0.0]])), embeddings_of(np.array([[1.0, 0.0], [0.0, 1.0]]))
    measure = catalogue.similarity(name)
    assert measure.score(a, b) != pytest.approx(measure.score(b, a), abs=1e-3)


@every_measure
def test_docstrings_have_formula_doctest_use_cost_and_source(name: str) -> None:
    text = inspect.getdoc(type(catalogue.similarity(name))) or ""
    assert [part for part in ("::", ">>>", "Source:") if part not in text] == []
    paragraphs = text.split("\n\n")
    for opening in ("Prefer ", "Costs "):
        assert sum(paragraph.startswith(opening) for paragraph in paragraphs) == 1, opening
