"""Whole words of a text, with and without punctuation, clitics and case."""

from __future__ import annotations

import pytest

from semblance.models.tokenization.words import WholeWords


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The hat.", ["The", "hat", "."]),
        ('("hat")', ['"', "hat", '"']),
        ("Dr. Hat, U.S.A., hat...", ["Dr.", "Hat", "U.S.A.", "hat", "..."]),
        ("don't DON'T the hat's", ["do", "n't", "DO", "N'T", "the", "hat", "'s"]),
        ("mother-in-law's hat-of", ["mother-in-law", "'s", "hat", "of"]),
        ("hat🙂the 東京 the\u3000hat", ["hat", "the", "the", "hat"]),
        ("https://hat.example/the", ["hat", ".", "the"]),
    ],
)
def test_whole_words_precede_splits_at_punctuation_and_clitics(text: str, parts: list[str]) -> None:
    known = ["the", "hat", ".", '"', "dr.", "u.s.a.", "do", "n't", "'s", "mother-in-law", "of", "..."]
    rows = {word: row for row, word in enumerate(known)}
    [tokens] = WholeWords(rows)([text])
    found = [text[token.start : token.end] for token in tokens]
    assert found == parts
    assert [rows[part.lower()] for part in found] == [token.row for token in tokens]


def test_case_matters_only_if_the_vocabulary_has_it() -> None:
    [tokens] = WholeWords({"Apple": 0, "apple": 1, "pie": 2})(["Apple apple APPLE Pie"])
    assert [token.row for token in tokens] == [0, 1, 1, 2]
    [lower] = WholeWords({"apple": 0, "pie": 1})(["Apple PIE"])
    assert [token.row for token in lower] == [0, 1]
