"""Quantities: units, currencies, dates and times, compared by what they amount to."""

from __future__ import annotations

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.paraphrases.numbers import LANGUAGES, Number
from semblance.models.paraphrases.quantities import differing, quantities

UNITS = {
    "length-millimeter": 0.001, "length-centimeter": 0.01, "length-meter": 1, "length-kilometer": 1000,
    "length-inch": 0.0254, "length-foot": 0.3048, "length-yard": 0.9144, "length-mile": 1609.344,
    "mass-milligram": 1e-6, "mass-gram": 0.001, "mass-kilogram": 1, "duration-millisecond": 0.001,
    "duration-second": 1, "duration-minute": 60, "duration-hour": 3600, "duration-day": 86400,
    "duration-week": 604800, "duration-year": 12, "volume-milliliter": 0.001, "volume-centiliter": 0.01,
    "volume-liter": 1, "volume-gallon": 3.785411784, "digital-kilobyte": 1e3, "digital-megabyte": 1e6,
    "digital-gigabyte": 1e9, "speed-kilometer-per-hour": 1, "speed-mile-per-hour": 1.609344, "power-watt": 1,
    "power-kilowatt": 1000, "energy-kilowatt-hour": 1, "temperature-celsius": 1, "concentr-percent": 1,
}  # fmt: skip
"""Units of the Unicode Common Locale Data Repository, and how many of the first one of their kind they are."""

OTHER_WORDS = ("pie", "pies", "time", "an")  # which stand after numbers in English and French, too


@pytest.mark.parametrize("locale", ["en", "en_GB", *sorted(LANGUAGES - {"en"})])
def test_units_have_their_names_in_all_languages(locale: str) -> None:
    patterns = Locale.parse(locale)._data["unit_patterns"]
    unread = []
    for unit, factor in UNITS.items():
        names = {patterns[unit]["long"][form] for form in ("one", "other") if form in patterns[unit]["long"]}
        for name in names:
            if name.split()[-1] in OTHER_WORDS:
                continue
            text = name.replace("{0}", "7")
            [number] = quantities(text, locale[:2])
            if (number.end, number.key[0]) != (len(text), float(f"{7 * factor:.9g}")):
                unread.append((text, number))
    assert unread == []


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_dates_are_read_in_all_languages(language: str) -> None:
    for month, name in Locale.parse(language).months["format"]["wide"].items():
        written = name.capitalize() if language in ("de", "en") else name
        [number] = quantities(f"7 {written}", language)
        assert number.key == (100.0 * month + 7, "date")


EQUAL = [
    ("a rope of 1.5 m", "150 cm of rope"),
    ("a 5km run", "five kilometres"),
    ("a 12-hour trip", "a trip of 720 minutes"),
    ("on 3 January 2025", "on 2025-01-03"),
    ("January 3rd", "the third of January"),
    ("Jan. 3", "3 january"),
    ("at 5 pm", "at 17:00"),
    ("at 5:30", "at 5:30 p.m."),
    ("at 12 am", "at 0:00"),
    ("$5 million", "5,000,000 dollars"),
    ("USD 5", "5 $"),
    ("it costs 5", "it costs 5 euros"),
    ("5 pounds", "£5"),
    ("5 pounds", "5 lb"),
    ("20%", "twenty per cent"),
    ("a 4g phone", "a 4G phone"),
    ("500g of flour", "500 g of flour"),
]
DIFFERENT = [
    ("5 km", "5 miles", "5 km", "5 miles"),
    ("5 minutes", "5 hours", "5 minutes", "5 hours"),
    ("€5", "$5", "€5", "$5"),
    ("January 3", "January 4", "January 3", "January 4"),
    ("5 pm", "5 am", "5 pm", "5 am"),
    ("the 3rd hour", "3 hours", "3rd", "3 hours"),
    ("10 MB", "10 GB", "10 MB", "10 GB"),
    ("error E42", "error E43", "E42", "E43"),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_equal_amounts_do_not_differ(a: str, b: str) -> None:
    assert differing(quantities(a, "en"), quantities(b, "en")) == ([], [])


@pytest.mark.parametrize(("a", "b", "in_a", "in_b"), DIFFERENT)
def test_other_amounts_differ_with_their_units(a: str, b: str, in_a: str, in_b: str) -> None:
    [[left], [right]] = differing(quantities(a, "en"), quantities(b, "en"))
    assert (a[left.start : left.end], b[right.start : right.end]) == (in_a, in_b)


@pytest.mark.parametrize(
    ("text", "language", "read"),
    [
        ("5 in the morning", "en", "5"),
        ("En 2005 l’année", "fr", "2005"),
        ("5 may be enough", "en", "5"),
        ("version 3d", "en", "3d"),
        ("room 5 and", "en", "5"),
        ("XYZ 5", "en", "5"),
        ("5 Auguſt", "en", "5"),
        ("aprİl 5", "en", "5"),
    ],
)
def test_other_words_beside_numbers_are_no_units(text: str, language: str, read: str) -> None:
    [number] = quantities(text, language)
    assert text[number.start : number.end] == read


PIECES = (
    "5",
    "12",
    "3rd",
    "km",
    "hours",
    "$",
    "€",
    "%",
    "January",
    "May",
    "am",
    "17:30",
    "2025-01-03",
    "4g",
    "of",
    "x",
)
TEXTS = st.lists(st.sampled_from(PIECES)).map(" ".join)


@pytest.mark.parametrize("text", ["5 ſec", "5 mİn", "5 mıles"])
def test_letters_that_match_in_any_case_are_read(text: str) -> None:
    assert [number.value for number in quantities(text, "en")] == [5]


@given(TEXTS, TEXTS)
def test_amounts_differ_alike_from_either_side(a: str, b: str) -> None:
    left, right = quantities(a, "en"), quantities(b, "en")
    places = [place for number in left for place in (number.start, number.end)]
    assert places == sorted(places)
    assert differing(left, left) == ([], [])
    forth, back = differing(left, right), differing(right, left)
    assert (len(forth[0]), len(forth[1])) == (len(back[1]), len(back[0]))
    assert len(left) - len(forth[0]) == len(right) - len(forth[1]), "each equals one at most"


def test_each_number_equals_one_at_most() -> None:
    three = [Number(i, i + 1, 5.0) for i in range(3)]
    assert [len(side) for side in differing(three, three[:1])] == [2, 0]
