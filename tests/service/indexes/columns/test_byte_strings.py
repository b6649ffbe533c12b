"""Byte strings are a list of bytes, before and after they were saved."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semblance.service.indexes.columns.array_file import Array, Pieces
from semblance.service.indexes.columns.byte_strings import ByteStrings

STRINGS = st.lists(st.binary(max_size=5), max_size=8)


def arrays(pieces: Mapping[str, Pieces]) -> dict[str, Array]:
    joined = {name: np.concatenate([*each.pieces, np.empty(0, np.uint8)]) for name, each in pieces.items()}
    assert {name: len(each) for name, each in joined.items()} == {name: each.length for name, each in pieces.items()}
    return {name: each.astype(np.uint8 if name.endswith("data") else np.int64) for name, each in joined.items()}


@given(saved=STRINGS, later=STRINGS, data=st.data())
def test_strings_are_those_appended_or_replaced(saved: list[bytes], later: list[bytes], data: st.DataObject) -> None:
    strings = ByteStrings()
    for string in saved:
        strings.append(string)
    strings = ByteStrings.of(arrays(strings.pieces("s")), "s")
    for string in later:
        strings.append(string)
    expected = saved + later
    assert [strings[i] for i in range(len(strings))] == expected
    numbers = st.sampled_from(range(len(expected))) if expected else st.nothing()
    replaced = data.draw(st.dictionaries(numbers, st.binary(max_size=5)))
    again = ByteStrings.of(arrays(strings.pieces("s", replaced)), "s")
    assert [again[i] for i in range(len(again))] == [replaced.get(i, each) for i, each in enumerate(expected)]
    assert [strings[i] for i in range(len(strings))] == expected, "saving changes nothing"
