"""The part of a text that a model read, words of explanations, and the parts of differences."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.models.explanation import (
    MAX_PARTNERS,
    DifferencePart,
    Explanation,
    Partner,
    ReadText,
    Share,
    difference_parts,
)
from semblance.models.text import Truncate, Unit, Units
from tests.support.units import units_of

LONG = "  " + "the cat sat on a mat, " * 100 + " \n"  # each word is one token


@pytest.mark.parametrize("truncate", ["END", "START"])
def test_a_truncated_text_is_read_up_to_a_character(minilm: Transformer, truncate: Truncate) -> None:
    """The part that was read, sent alone, has the tokens of the whole text, and is read as a whole."""
    [cut] = minilm.tokenize([LONG], "query", truncate)
    read = ReadText.of(cut)
    assert read.truncated
    part = LONG[read.start : read.end]
    [alone] = minilm.tokenize([part], "query", "NONE")
    assert alone.ids.tolist() == cut.ids.tolist()
    assert (read.start == 0, read.end == len(LONG)) == ((True, False) if truncate == "END" else (False, True))
    assert ReadText.of(alone) == ReadText(part, False, 0, len(part))


@pytest.mark.parametrize("truncate", ["END", "START", "NONE"])
def test_a_short_text_is_read_with_its_spaces(minilm: Transformer, truncate: Truncate) -> None:
    [tokens] = minilm.tokenize(["  two words \n"], "query", truncate)
    assert ReadText.of(tokens) == ReadText("  two words \n", False, 0, 13)


def explanation(
    query: str, text: str, parts: list[list[float]], *, special: float = 0.0, rest: float = 0.0
) -> Explanation:
    """An explanation by the words between single spaces."""
    left, right = units_of(query), units_of(text)
    contribution = np.array(parts).reshape(len(left), len(right))
    score = float(contribution.sum()) + special + rest
    return Explanation(score, left, right, np.full(contribution.shape, 0.5), contribution, special, (query, text))


def test_words_of_a_text_are_joined_beside_an_empty_one() -> None:
    """Of the tokens re- and -do, the word is redo, whatever the other text has."""
    tokens = Units("redo", np.array([[0, 2], [2, 4]], np.int32), np.zeros(2, np.int32))
    none = np.zeros((2, 0))
    words = Explanation(0.1, tokens, units_of(""), none, none, 0.1, ("redo", "")).by_word()
    assert list(words.left) == [Unit("redo", 0, 4, 0)]
    assert words.contribution.shape == words.similarity.shape == (1, 0)


def test_each_word_has_its_shares_and_strongest_partners() -> None:
    a = explanation("late parcel", "my parcel is late", [[0, 0, 0.125, 0.25], [0.0625, 0.5, -0.25, 0.0]], special=0.5)
    b = explanation("late parcel", "late", [[0.25], [0.0]], rest=0.75)
    late, parcel = units_of("late parcel")
    by_late = Share(0.375, (Partner(13, 17, 0.5, 0.25), Partner(10, 12, 0.5, 0.125)))
    by_parcel = Share(0.3125, (Partner(3, 9, 0.5, 0.5), Partner(10, 12, 0.5, -0.25), Partner(0, 2, 0.5, 0.0625)))
    assert difference_parts(a, b) == [
        DifferencePart("word", late, "late", by_late, Share(0.25, (Partner(0, 4, 0.5, 0.25),))),
        DifferencePart("word", parcel, "parcel", by_parcel, Share(0.0)),
        DifferencePart("special", None, "special", Share(0.5), Share(0.0)),
        DifferencePart("rest", None, "rest", Share(0.0), Share(0.75)),
    ]
    assert MAX_PARTNERS == 3


def test_two_explanations_of_a_text_differ_in_nothing() -> None:
    same = explanation("late parcel", "parcel", [[0.1], [0.7]], special=0.2)
    parts = difference_parts(same, same)
    assert [part.difference for part in parts] == [0.0, 0.0, 0.0]
    assert [part.kind for part in parts] == ["word", "word", "special"]


def test_explanations_of_different_queries_have_no_difference() -> None:
    a, b = explanation("late", "parcel", [[0.1]]), explanation("lost", "parcel", [[0.1]])
    with pytest.raises(ValueError, match="different queries"):
        difference_parts(a, b)
