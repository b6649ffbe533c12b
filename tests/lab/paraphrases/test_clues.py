"""Clues of pairs: the words of texts, their partners, numbers and negations, whatever pairs are read together."""

from __future__ import annotations

import numpy as np
import torch

from semblance.models.encoders.transformer import Transformer
from semblance.models.paraphrases.partners import partners
from semblance_lab.paraphrases.clues import ClueTable, words_of_texts
from semblance_lab.paraphrases.pairs import Pair
from tests.lab.paraphrases.drawn_pairs import clues_of, drawn_pairs, words_of
from tests.support.no_progress import no_progress


def test_words_of_a_pair_have_the_facts_of_their_partners() -> None:
    pairs = drawn_pairs(9)
    batch = clues_of(pairs).at(torch.tensor([7, 1]))
    for place, pair in enumerate((pairs[7], pairs[1])):
        a, b = words_of(pair.a), words_of(pair.b)
        for side, (own, other), found in zip(batch.words, ((a, b), (b, a)), partners(a, b), strict=True):
            mine = side.pairs == place
            np.testing.assert_allclose(side.vectors[mine], own.vectors, atol=1e-6)
            joined = found.rows >= 0
            np.testing.assert_allclose(side.partners[mine][joined], other.vectors[found.rows[joined]], atol=1e-6)
            columns = (found.links, found.nearest, found.same, found.crossed, own.content)
            np.testing.assert_allclose(side.facts[mine][:, :5], np.stack(columns, axis=1), atol=1e-6)


def test_numbers_and_negations_are_not_plain() -> None:
    clues = clues_of([Pair("s", "k", "it has not 3 legs", "it has legs", holds=False)])
    words, _ = clues.at(torch.tensor([0])).words
    assert words.facts[:, 5].tolist() == [1, 1, 0, 0, 1]


def test_a_replaced_word_has_another_word_as_partner() -> None:
    clues = clues_of([Pair("s", "k", "the fox slept", "the crow slept well", holds=False)])
    a, b = clues.at(torch.tensor([0])).words
    assert a.facts[:, 6].tolist() == [0, 1, 0]
    assert b.facts[:, 6].tolist() == [0, 1, 0, 1]
    torch.testing.assert_close(a.partners[1], b.vectors[int((b.vectors @ a.vectors[1])[[1, 3]].argmax()) * 2 + 1])


def test_numbers_are_counted_by_value() -> None:
    pair = Pair("s", "k", "two of 3 and 3 foxes", "2 of 3 and 7 or 8 foxes", holds=False)
    assert clues_of([pair]).lacking.tolist() == [[1, 2]]


def test_two_negations_make_no_negation() -> None:
    texts = ("it is not never new", "it is new", "it is not new")
    pairs = [Pair("s", "k", a, b, holds=False) for a in texts for b in texts]
    assert clues_of(pairs).negated.tolist() == [0, 0, 1, 0, 0, 1, 1, 1, 0]


def test_the_cosine_is_that_of_the_mean_words() -> None:
    a, b = (words_of(text).vectors.mean(axis=0) for text in ("the fox slept", "a crow"))
    expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    clues = clues_of([Pair("s", "k", "the fox slept", "a crow", holds=False)])
    np.testing.assert_allclose(clues.cosine, expected, rtol=1e-5)


def test_encoded_words_are_unit_vectors_in_half_precision(minilm: Transformer) -> None:
    found = words_of_texts(minilm, ["A fox slept.", "?!", "A fox slept.", "Crows"], no_progress)
    assert list(found) == ["Crows", "A fox slept."]
    vectors = found["A fox slept."].vectors
    assert (str(vectors.dtype), vectors.shape) == ("float16", (3, 384))
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float32), axis=1), 1, atol=1e-3)
    assert len(ClueTable.of([Pair("s", "k", "Crows", "A fox slept.", holds=False)], found, no_progress)) == 1
