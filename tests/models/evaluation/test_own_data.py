"""A user's own files, in every layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.evaluation.own_data import KINDS, read_own
from semblance.models.evaluation.tasks import (
    ChunkAlignment,
    GradedPairs,
    LabelledPairs,
    Rankings,
    Retrieval,
    Task,
    Triplets,
)
from tests.models.evaluation.samples import LINES, LINKS, ROW, write_collection
from tests.support.written import write, write_json, write_table


def prepared(kind: str, folder: Path) -> Path:
    """What a user would name on the command line."""
    sentences = ("sentence1", "sentence2")
    match kind:
        case "pairs":
            return write_table(folder / "own.tsv", [(*sentences, "score"), ("a", "b", -7.5), ("c", "d", 1)])
        case "labels":
            return write_table(folder / "own.tsv", [(*sentences, "label"), ("a", "b", "true"), ("c", "d", 0)])
        case "triplets":
            return write_table(folder / "own.tsv", [("anchor", "positive", "negative"), ("a", "b", "c")])
        case "ranking":
            return write_json(folder / "own.jsonl", ROW)
        case "retrieval":
            return write_collection(folder)
        case _:
            write(folder / "own.set.wa", *LINES)
            return folder / "own.set"


EXPECTED: dict[str, Task] = {
    "pairs": GradedPairs(("a", "c"), ("b", "d"), (-7.5, 1.0), ("", "")),
    "labels": LabelledPairs(("a", "c"), ("b", "d"), (True, False)),
    "triplets": Triplets(("a",), ("b",), ("c",)),
    "ranking": Rankings(("q r",), (["a", "b"],), ([1.0, 0.0],)),
    "retrieval": Retrieval({"d1": "t u", "d3": "v"}, {"q1": "w"}, {"q1": {"d1": 2.0, "d9": 1.0}}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_read_as_the_benchmarks_are(tmp_path: Path, kind: str) -> None:
    task = read_own(kind, prepared(kind, tmp_path))
    if kind == "ists":
        assert isinstance(task, ChunkAlignment)
        assert [pair.gold for pair in task.pairs] == [LINKS]
    else:
        assert task == EXPECTED[kind]


def test_a_column_of_bundles_puts_pairs_into_groups(tmp_path: Path) -> None:
    header = ("bundle", "sentence1", "sentence2", "score")
    rows = [(4, "a", "b", 1), (2, "c", "d", 2), (4, "e", "f", 3)]
    task = read_own("pairs", write_table(tmp_path / "own.tsv", [header, *rows]))
    assert isinstance(task, GradedPairs)
    assert (task.left, task.groups) == (("a", "c", "e"), ("4", "2", "4"))
    with pytest.raises(BadDataSet, match=r"own\.tsv, line 3: bundle is empty"):
        read_own("pairs", write_table(tmp_path / "own.tsv", [header, rows[0], ("", "c", "d", 2)]))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_there_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(BadDataSet, match=r"absent.* cannot be read: No such file"):
        read_own(kind, tmp_path / "absent")


def test_an_unknown_kind_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"no 'pair' among the kinds of own data: choose one of pairs, labels"):
        read_own("pair", tmp_path)
