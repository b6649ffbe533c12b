"""Words within some edits, and with some beginning, are those of an exhaustive search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from semblance.service.indexes.columns.array_file import write_arrays
from semblance.service.indexes.terms.bm25 import Bm25, TextTerms
from tests.support.array_files import map_arrays

LETTERS = st.text("abcdefgß", min_size=1, max_size=6)
WORDS = st.lists(LETTERS, max_size=30)


def edits(a: str, b: str) -> int:
    """Insertions, deletions, replacements, and swaps of neighbors that are not changed otherwise."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and a[i - 2 : i] == b[j - 2 : j][::-1]:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


@given(first=WORDS, later=WORDS, word=st.text("abcdefg", min_size=1, max_size=6), most=st.integers(1, 2))
def test_words_are_those_of_an_exhaustive_search(
    first: Sequence[str], later: Sequence[str], word: str, most: int
) -> None:
    index = Bm25()
    for text in first:
        index.add(TextTerms.of(text))
    index.near(word, most)  # what was read before is not all
    for text in later:
        index.add(TextTerms.of(f"{text} {text}-12"))
    known = {term.replace("ß", "ss") for term in (*first, *later)}
    assert dict(index.near(word, most)) == {each: n for each in known if 0 < (n := edits(word, each)) <= most}
    frequent = {each: n for each, n in index.near(word, most) if index.count(each) >= 2}
    assert frequent.items() <= dict(index.near(word, most, 2)).items() <= dict(index.near(word, most)).items()
    assert set(index.beginning(word, 1000)) == {each for each in known if each.startswith(word)}
    counts = [index.count(each) for each in index.beginning(word[0], most)]
    every = sorted((index.count(each) for each in known if each.startswith(word[0])), reverse=True)
    assert counts == sorted(counts, reverse=True)
    assert len(counts) == min(most, len(every))


def test_a_loaded_index_has_the_same_words(tmp_path: Path) -> None:
    index = Bm25()
    for text in ("parcel lamp", "parcels E-12", "lost parcel"):
        index.add(TextTerms.of(text))
    write_arrays(tmp_path / "terms", index.pieces())
    loaded = Bm25.of(map_arrays(tmp_path / "terms"))
    for each in (index, loaded):
        each.add(TextTerms.of("parsley parcel"))
        assert sorted(each.near("parcle", 2)) == [("parcel", 1), ("parcels", 2), ("parsley", 2)]
        assert sorted(each.beginning("par", 9)) == ["parcel", "parcels", "parsley"]
    loaded.adopt(map_arrays(tmp_path / "terms"))
    assert loaded.beginning("par", 2) == ["parcel", "parcels"]
