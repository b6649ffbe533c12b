"""Rows by term are those of a dictionary of lists, before and after they were saved."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.service.indexes.columns.array_file import map_arrays, write_arrays
from semblance.service.indexes.columns.term_rows import TermRows

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
