"""The count of what a JSON text holds, against the parsed text."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.service.api.json_values import MOST_VALUES, JsonValues, too_many_values

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab\\",[{}]é\u2200🎉\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='k\\",['), inner),
)


def entries(value: Any) -> int:
    """Of every list and object; an empty one counts as if it had one."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return max(1, len(value)) + sum(map(entries, inner))
    return 0


@given(value=ANYTHING, ascii_only=st.booleans(), cuts=st.lists(st.integers(0, 200), max_size=6))
def test_it_counts_entries_outside_of_strings_wherever_the_text_is_cut(
    value: Any, ascii_only: bool, cuts: list[int]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    values = JsonValues()
    for start, end in itertools.pairwise(edges):
        values.add(text[start:end])
    assert values.count == entries(value)


@given(value=ANYTHING, coding=st.sampled_from(["utf-16", "utf-16-le", "utf-32"]))
def test_a_text_in_another_coding_counts_no_less(value: Any, coding: str) -> None:
    values = JsonValues()
    values.add(json.dumps(value).encode(coding))
    assert values.count >= entries(value)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (b"[" + b"1," * MOST_VALUES + b"1]", True),
        (b"[" * (MOST_VALUES + 1), True),
        (b"[" + b"1," * (MOST_VALUES - 1) + b"1]", False),
        (b'["' + b"[{,}]" * 1_000_000 + b'"]', False),
        (b'["' + rb"\\\"[," * 1_000_000 + b'"]', False),
        (b'["\\\\"' + b",[]" * MOST_VALUES + b"]", True),
    ],
    ids=["numbers", "brackets", "just not too many", "one string", "one string of escapes", "after a string"],
)
def test_only_what_is_costly_to_parse_is_too_much(text: bytes, refused: bool) -> None:
    assert too_many_values(text) is refused
