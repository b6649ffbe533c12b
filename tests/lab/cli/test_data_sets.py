"""Names of sets and columns on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.judgments.user_tables import renamed_columns
from semblance_lab.cli.evaluate.data_sets import LAYOUTS, excluded_texts, expand_sets
from semblance_lab.evaluation.datasets import panel_parts
from semblance_lab.evaluation.datasets.panel_parts import pair_hash
from semblance_lab.evaluation.results import PANEL
from tests.lab.evaluation.samples import write_collection
from tests.support.text_files import write_table

SETS = ["stsb", "labels:a.csv", "triplets:b.csv"]


def test_entries_are_separated_by_commas_before_a_column() -> None:
    values = ["sentence1=a, sentence2 of it,sentence2=b=c", "anchor=d"]
    assert renamed_columns(LAYOUTS, values, SETS) == {
        "sentence1": "a, sentence2 of it",
        "sentence2": "b=c",
        "anchor": "d",
    }
    assert renamed_columns(LAYOUTS, [], ["stsb"]) == {}


@pytest.mark.parametrize(
    ("value", "sets", "message"),
    [
        ("sentence1", SETS, "--columns sentence1 is not COLUMN=NAME with one of sentence1, sentence2, label, anchor"),
        ("sentence1=", SETS, "--columns sentence1= is not COLUMN=NAME"),
        ("score=grade", SETS, "--columns score=grade is not COLUMN=NAME with one of"),
        ("score=grade", ["stsb", "ranking:a.jsonl"], "is not used: no table of yours, such as labels:FILE, is named"),
    ],
)
def test_other_entries_are_refused(value: str, sets: list[str], message: str) -> None:
    with pytest.raises(BadDataSet, match=message):
        renamed_columns(LAYOUTS, [value], sets)


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="no 'pair' among the kinds"):
        renamed_columns(LAYOUTS, ["score=x"], ["pair:a.csv"])


def test_the_panel_stands_for_its_sets() -> None:
    assert expand_sets(["stsb", "panel", "cisi", "pairs:a.tsv"]) == ["stsb", *PANEL, "pairs:a.tsv"]
    assert expand_sets(["cisi", "panel"]) == ["cisi", *(name for name in PANEL if name != "cisi")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data with sets of all roles; of MSRP train, the panel has only the second pair."""
    monkeypatch.setattr(panel_parts, "listed_parts", lambda: {"msrp_train_panel": frozenset({pair_hash("b", "B")})})
    graded, labels = ("sentence1", "sentence2", "score"), ("sentence1", "sentence2", "label")
    write_table(tmp_path / "stsb" / "stsb.test.tsv", [graded, ("test", "Test!", 1), ("t", "t", 2)])
    write_table(tmp_path / "stsb" / "stsb.dev.tsv", [graded, ("dev", "Dev!", 1), ("d", "d", 2)])
    write_table(tmp_path / "stsb" / "stsb.train.tsv", [graded, ("train", "Train!", 1), ("n", "n", 2)])
    write_table(tmp_path / "paraphrase" / "msrp.train.tsv", [labels, ("a", "A", 1), ("b", "B", 0), ("b", "b", 1)])
    write_collection(tmp_path / "ir" / "cisi")
    return tmp_path


def test_evaluation_is_all_but_training_sets_and_the_panel(folder: Path) -> None:
    found = list(excluded_texts(["evaluation"], folder))
    assert {name for name, _ in found} == {"stsb", "stsb_dev", "msrp_train_panel", "cisi"}
    assert {text for name, text in found if name == "msrp_train_panel"} == {"b", "B"}
    assert ("stsb", "Test!") in found
    assert not {"train", "Train!", "a", "A"} & {text for _, text in found}
    assert set(excluded_texts(["stsb_train"], folder)) == {("stsb_train", each) for each in ("train", "Train!", "n")}


def test_evaluation_without_data_is_refused() -> None:
    with pytest.raises(BadDataSet, match="--exclude evaluation needs a folder of data"):
        list(excluded_texts(["evaluation"], None))
