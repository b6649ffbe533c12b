"""The option --columns of `semblance evaluate`."""

from __future__ import annotations

import pytest

from semblance.models.errors import BadDataSet, UnknownName
from semblance.service.cli.evaluate.data_sets import renamed_columns

SETS = ["stsb", "labels:a.csv", "triplets:b.csv"]


def test_entries_are_separated_by_commas_before_a_column() -> None:
    values = ["sentence1=a, sentence2 of it,sentence2=b=c", "anchor=d"]
    assert renamed_columns(values, SETS) == {"sentence1": "a, sentence2 of it", "sentence2": "b=c", "anchor": "d"}
    assert renamed_columns([], ["stsb"]) == {}


@pytest.mark.parametrize(
    ("value", "sets", "message"),
    [
        ("sentence1", SETS, "--columns sentence1 is not COLUMN=NAME with one of sentence1, sentence2, label, anchor"),
        ("sentence1=", SETS, "--columns sentence1= is not COLUMN=NAME"),
        ("score=grade", SETS, "--columns score=grade is not COLUMN=NAME with one of"),
        ("score=grade", ["stsb", "ranking:a.jsonl"], "is not used: --sets names no table of yours"),
    ],
)
def test_other_entries_are_refused(value: str, sets: list[str], message: str) -> None:
    with pytest.raises(BadDataSet, match=message):
        renamed_columns([value], sets)


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="no 'pair' among the kinds"):
        renamed_columns(["score=x"], ["pair:a.csv"])
