"""Columns of an index are the lists and dictionaries that they stand for, before and after they were saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from semblance.service.indexes.columns import string_numbers
from semblance.service.indexes.columns.array_file import Array, Pieces, in_one, write_arrays
from semblance.service.indexes.columns.byte_strings import ByteStrings
from semblance.service.indexes.columns.string_numbers import StringNumbers, digest
from semblance.service.indexes.columns.term_rows import TermRows
from tests.support.array_files import map_arrays

DTYPES = {"U8": np.uint8, "U32": np.uint32, "I64": np.int64, "U64": np.uint64}
ARRAYS = st.dictionaries(
    st.text("abc.", min_size=1, max_size=8),
    st.tuples(st.sampled_from([*DTYPES]), st.lists(st.lists(st.integers(0, 255), max_size=9), max_size=3)),
    min_size=1,
    max_size=6,
)


@given(arrays=ARRAYS)
def test_mapped_arrays_are_those_that_safetensors_reads(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, tuple[str, list[list[int]]]]
) -> None:
    file = tmp_path_factory.mktemp("arrays") / "file"
    pieces = {
        name: Pieces(dtype, sum(map(len, parts)), [np.array(part, DTYPES[dtype]) for part in parts])
        for name, (dtype, parts) in arrays.items()
    }
    write_arrays(file, pieces)
    read, mapped = load_file(file), map_arrays(file)
    assert mapped.keys() == read.keys() == arrays.keys()
    for name, (dtype, parts) in arrays.items():
        assert mapped[name].dtype == read[name].dtype == DTYPES[dtype]
        assert mapped[name].tolist() == read[name].tolist() == [number for part in parts for number in part]


@pytest.mark.parametrize("end", ["cut", "overwritten", "removed"])
def test_mapped_arrays_cannot_be_changed_and_outlive_their_file(tmp_path: Path, end: str) -> None:
    file = tmp_path / "file"
    write_arrays(file, {"a": in_one(np.arange(5))})
    mapped = map_arrays(file)["a"]
    if end == "removed":
        file.unlink()
    else:
        file.write_bytes(b"" if end == "cut" else bytes(file.stat().st_size))
    assert mapped.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1


@pytest.mark.parametrize("content", [b"", b"not an array file", (1 << 40).to_bytes(8, "little") + b"{}"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises((ValueError, OSError)):
        map_arrays(file)


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


ROWS = st.lists(st.lists(st.sampled_from("abcdefü荷"), max_size=6), max_size=12)


@given(saved=ROWS, later=ROWS, last=ROWS)
def test_rows_and_frequencies_are_those_added(
    tmp_path_factory: pytest.TempPathFactory, saved: list[list[str]], later: list[list[str]], last: list[list[str]]
) -> None:
    folder, terms, expected, row = tmp_path_factory.mktemp("terms"), TermRows(), dict[str, list[tuple[int, int]]](), 0
    for step, part in enumerate((saved, later, last)):
        for words in part:
            terms.add(row, Counter(words))
            for word, count in Counter(words).items():
                expected.setdefault(word, []).append((row, count))
            row += 1
        for each in (terms, _saved(terms, folder / str(step))):
            for word in "abcdefü荷z":
                rows, counts = each.of(word)
                assert list(zip(rows.tolist(), counts.tolist(), strict=True)) == expected.get(word, [])
                assert each.count(word) == len(rows)
        if step < 2:
            terms = _saved(terms, folder / str(step))


def _saved(terms: TermRows, file: Path) -> TermRows:
    write_arrays(file, terms.pieces())
    return TermRows(map_arrays(file))
