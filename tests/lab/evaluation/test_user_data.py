"""Files of users, in every layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance.models.judgments.user_tables import read_user_data
from semblance_lab.cli.evaluate.data_sets import LAYOUTS
from semblance_lab.evaluation.tasks import ChunkAlignment, Rankings, Retrieval, Task, Triplets
from tests.lab.evaluation.samples import LINES, LINKS, ROW, write_collection
from tests.support.text_files import write, write_json, write_table

SENTENCES = ("sentence1", "sentence2")
# kind -> how a file is written, which returns the path on the command line, and the task in it
FILES: Mapping[str, tuple[Callable[[Path], Path], Task | None]] = {
    "pairs": (
        lambda folder: write_table(folder / "own.tsv", [(*SENTENCES, "score"), ("a", "b", -7.5), ("c", "d", 1)]),
        GradedPairs(("a", "c"), ("b", "d"), (-7.5, 1.0), ("", "")),
    ),
    "labels": (
        lambda folder: write_table(folder / "own.tsv", [(*SENTENCES, "label"), ("a", "b", "true"), ("c", "d", 0)]),
        LabeledPairs(("a", "c"), ("b", "d"), (True, False)),
    ),
    "triplets": (
        lambda folder: write_table(folder / "own.tsv", [("anchor", "positive", "negative"), ("a", "b", "c")]),
        Triplets(("a",), ("b",), ("c",)),
    ),
    "ranking": (
        lambda folder: write_json(folder / "own.jsonl", ROW),
        Rankings(("q r",), (["a", "b"],), ([1.0, 0.0],)),
    ),
    "retrieval": (
        write_collection,
        Retrieval({"d1": "t u", "d3": "v"}, {"q1": "w"}, {"q1": {"d1": 2.0, "d9": 1.0}}),
    ),
    "ists": (lambda folder: write(folder / "own.set.wa", *LINES).with_suffix(""), None),
}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_user_files_are_read_like_benchmarks(tmp_path: Path, kind: str) -> None:
    written, expected = FILES[kind]
    task = read_user_data(LAYOUTS, kind, written(tmp_path))
    assert [pair.gold for pair in task.pairs] == [LINKS] if isinstance(task, ChunkAlignment) else task == expected
    with pytest.raises(BadDataSet, match=r"absent.* cannot be read: No such file"):
        read_user_data(LAYOUTS, kind, tmp_path / "absent")


def test_bundle_column_defines_groups(tmp_path: Path) -> None:
    header = ("bundle", "sentence1", "sentence2", "score", "topic")
    rows = [(4, "a", "b", 1, "x"), (2, "c", "d", 2, "x"), (4, "e", "f", 3, "y")]
    file = write_table(tmp_path / "own.tsv", [header, *rows])
    for columns, groups in ((None, ("4", "2", "4")), ({"bundle": "topic"}, ("x", "x", "y"))):
        task = read_user_data(LAYOUTS, "pairs", file, columns)
        assert isinstance(task, GradedPairs)
        assert (task.left, task.groups) == (("a", "c", "e"), groups)
    with pytest.raises(BadDataSet, match=r"no column is named topics; .*did you mean topic"):
        read_user_data(LAYOUTS, "pairs", file, {"bundle": "topics"})
    with pytest.raises(BadDataSet, match=r"own\.tsv, line 3: bundle is empty"):
        read_user_data(LAYOUTS, "pairs", write_table(file, [header, rows[0], ("", "c", "d", 2, "x")]))


@pytest.mark.parametrize("kind", [kind for kind, layout in LAYOUTS.items() if layout.columns])
@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl"])
def test_columns_of_any_name_are_read_in_any_format(tmp_path: Path, kind: str, suffix: str) -> None:
    header, *rows = [line.split("\t") for line in FILES[kind][0](tmp_path).read_text().splitlines()]
    names = [f"my, {name}" for name in header]
    file = tmp_path / f"renamed{suffix}"
    if suffix == ".jsonl":
        write_json(file, *(dict(zip(names, row, strict=True)) for row in rows))
    else:
        quote, separator = ('"', ",") if suffix == ".csv" else ("", "\t")
        write(file, *(separator.join(f"{quote}{each}{quote}" for each in row) for row in (names, *rows)))
    columns = dict(zip(header, names, strict=True))
    assert read_user_data(LAYOUTS, kind, file, columns) == FILES[kind][1]
    with pytest.raises(
        BadDataSet, match=rf"{header[0]}, .*my, {header[0]}.*; name yours with --columns {header[0]}=NAME,"
    ):
        read_user_data(LAYOUTS, kind, file, {})
    with pytest.raises(BadDataSet, match=r"no (column|field) is named nosuch; .*my, "):
        read_user_data(LAYOUTS, kind, file, columns | {header[0]: "nosuch"})


def test_unknown_kind_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"no 'pair' among the kinds of user data: choose one of pairs, labels"):
        read_user_data(LAYOUTS, "pair", tmp_path)
