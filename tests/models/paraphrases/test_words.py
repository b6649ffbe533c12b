"""Words of texts, with vectors of several tokens."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.paraphrases.words import TextWords, words_of_pairs
from semblance.models.text import TokenizedText

DIM = 4
PIECES = st.lists(
    st.tuples(st.sampled_from(["parcel", "not", "the", "und", "das", ","]), st.integers(1, 4)), min_size=1
)


def embedded(pieces: list[tuple[str, int]], seed: int) -> TokenEmbeddings:
    """Embeddings of a text between two special tokens, from its words and their numbers of tokens."""
    text = " ".join(word for word, _ in pieces)
    starts = np.cumsum([0, *(len(word) + 1 for word, _ in pieces)])
    spans = [(start, start + len(word)) for start, (word, _) in zip(starts, pieces, strict=False)]
    words = [-1, *(i for i, (_, count) in enumerate(pieces) for _ in range(count)), -1]
    tokens = TokenizedText(
        text,
        np.zeros(len(words), np.int32),
        np.array([(0, 0) if word < 0 else spans[word] for word in words], np.int32),
        np.array(words, np.int32),
    )
    vectors = np.random.default_rng(seed).normal(size=(len(words), DIM)).astype(np.float32)
    return TokenEmbeddings(vectors, np.ones(len(words), np.float32), tokens)


@given(PIECES)
def test_the_vector_of_a_word_is_its_tokens_mean(pieces: list[tuple[str, int]]) -> None:
    text = embedded(pieces, 0)
    assert text.text is not None
    words = TextWords.of(text)
    kept = [i for i, (word, _) in enumerate(pieces) if word.isalnum()]
    means = [text.vectors[text.text.words == i].astype(np.float64).mean(axis=0) for i in kept]
    expected = np.array([mean / np.linalg.norm(mean) for mean in means]).reshape(-1, DIM)
    np.testing.assert_allclose(words.vectors, expected, atol=1e-5)
    assert words.units.texts == [pieces[i][0] for i in kept]


@given(st.lists(PIECES, max_size=5), st.integers(0, 9))
def test_texts_together_have_the_words_of_each_alone(drawn: list[list[tuple[str, int]]], seed: int) -> None:
    texts = [embedded(pieces, seed) for pieces in drawn]
    for text, together in zip(texts, TextWords.of_all(texts, ("en", "de")), strict=True):
        alone = TextWords.of(text, ("en", "de"))
        np.testing.assert_array_equal(together.vectors, alone.vectors)
        np.testing.assert_array_equal(together.negations, alone.negations)
        assert (together.units.texts, together.language) == (alone.units.texts, alone.language)


def test_pairs_in_two_languages_are_read_in_the_likelier_one() -> None:
    german, english = (
        embedded([(word, 1) for word in text.split()], 0) for text in ("das parcel und das", "the parcel")
    )
    [(left, right), (alone, _)] = words_of_pairs([(german, english), (english, english)], ("en", "de"))
    assert (left.language, right.language, alone.language) == ("de", "de", "en")
