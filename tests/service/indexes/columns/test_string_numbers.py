"""Numbers of strings: the last one first, also of strings with the same digest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.service.indexes.columns import string_numbers
from semblance.service.indexes.columns.string_numbers import StringNumbers, digest

ADDED = st.lists(st.text("abc", max_size=2), max_size=40)


@given(added=ADDED, recent=st.integers(0, 9))
def test_a_string_is_found_under_its_last_number(added: list[str], recent: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_numbers, "RECENT", recent)
        numbers = StringNumbers()
        for number, string in enumerate(added):
            numbers.add(string, number)
        arrays = {name: next(iter(each.pieces)) for name, each in numbers.pieces("n").items()}
    for each in (numbers, StringNumbers.of(arrays, "n")):
        for string in added:
            last = max(number for number, other in enumerate(added) if other == string)
            found = list(each.candidates(string))
            assert last in found
            assert {added[number] for number in found} == {string}
        assert list(each.candidates("never added")) == []


def test_strings_of_one_digest_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string_numbers, "digest", len)
    monkeypatch.setattr(string_numbers, "RECENT", 1)
    numbers = StringNumbers()
    for number, string in enumerate(["a", "b", "cc", "d"]):
        numbers.add(string, number)
    assert sorted(numbers.candidates("a")) == [0, 1, 3]
    assert list(numbers.candidates("cc")) == [2]


@pytest.mark.parametrize(("text", "expected"), [("a", "40f89e395b66422f"), ("ü", "55f19df5c1392f37")])
def test_a_digest_is_the_same_in_every_process(text: str, expected: str) -> None:
    """It is in snapshots; computed by `b2sum --length 64`."""
    assert digest(text) == int(expected, 16)
