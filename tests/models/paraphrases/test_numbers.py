"""Numbers of texts, by their values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.paraphrases.numbers import Value, numbers


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Twenty-one pilots met 3 women, 2.5 percent", "en", [21, 3, 2.5]),
        ("1,200 men in 1.200 towns and 1,5 others", "en", [1200, 1.2, 1.5]),
        ("einundzwanzig Frauen und 1.200 Männer", "de", [21, 1200]),
        ("dos mil veinte", "es", [2020]),
        ("version 2.3.1 of B2B and 77A", "en", ["2.3.1", "b2b", "77a"]),
        ("one of them owns 1 dog", "en", [1]),
        ("no numbers here", "en", []),
        ("kaksi miestä", "fi", []),
        ("", None, []),
    ],
)
def test_numbers_have_their_values(text: str, language: str | None, expected: list[Value]) -> None:
    assert [number.value for number in numbers(text, language)] == expected


def test_ranks_are_not_counts() -> None:
    ranks = numbers("the third, the 3rd and 3", "en")
    assert [number.key for number in ranks] == [(3, "rank"), (3, "rank"), (3, "count")]


@given(st.text(max_size=60), st.sampled_from(["en", "de", "fr", "zh", None]))
def test_places_are_in_order_within_the_text(text: str, language: str | None) -> None:
    places = [place for number in numbers(text, language) for place in (number.start, number.end)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


@given(st.integers(2, 10**6))
def test_digits_have_their_value_with_groups_and_without(number: int) -> None:
    assert [found.value for found in numbers(f"{number} or {number:,}", "en")] == [number, number]


MAYBE_NUMBERS = "a one o two hundred and point second vingt neuf et un mil e y og en zwei drei"


@given(st.lists(st.sampled_from(MAYBE_NUMBERS.split())), st.sampled_from(["en", "de", "fr", "es", "pt", "da"]))
def test_a_digit_elsewhere_changes_no_number_in_words(words: list[str], language: str) -> None:
    text = " ".join(words)
    *before, digit = numbers(f"{text} ; 7", language)
    assert (before, digit.value) == (numbers(text, language), 7)
