"""Parts of the panel: they are complete, and share no pair with the tests."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.evaluation.contamination import held_out_forms, normal_form, texts_of
from semblance_lab.evaluation.datasets import data_set, panel_parts
from semblance_lab.evaluation.datasets.panel_parts import hashes_of, pair_hash, pairs_of
from semblance_lab.evaluation.results import PANEL
from tests.support.text_files import write_table

LISTED = {
    "stsb_dev_panel": 362,
    "sickr_trial_panel": 486,
    "ists_train_panel": 39,
    "msrp_train_panel": 3078,
    "edinburgh_train_panel": 238,
}
TESTS = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr", "ists_images", "edinburgh")
ROWS = [("sentence1", "sentence2", "score"), ("A dog runs.", "b", 1), ("c", "d", 2), ("e", "f", 3)]


def test_a_part_has_the_listed_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"stsb_dev_panel": frozenset({pair_hash("b", "a dog runs"), pair_hash("e", "f")})}
    monkeypatch.setattr(panel_parts, "listed_parts", lambda: listed)
    task = data_set("stsb_dev_panel").read(write_table(tmp_path / "dev.tsv", ROWS))
    assert task == GradedPairs(["A dog runs.", "e"], ["b", "f"], [1, 3], ["", ""], ["0", "1"])
    with pytest.raises(BadDataSet, match=r"dev\.tsv lacks 1 of the 2 pairs of stsb_dev_panel; get STS benchmark"):
        data_set("stsb_dev_panel").read(write_table(tmp_path / "dev.tsv", ROWS[:3]))


def test_the_rest_has_the_pairs_that_are_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"source": "a b", "sureAlign": "0-0", "possibleAlign": ""}
    rows = [{**row, "id": str(number), "target": target} for number, target in enumerate(("c d", "e f", "g h"))]
    for links in ("sure", "sure+poss"):
        (tmp_path / f"gold.train.{links}.json").write_text(json.dumps(rows), "utf-8")
    listed = {"edinburgh_train_panel": frozenset({pair_hash("a b", "E f!")})}
    monkeypatch.setattr(panel_parts, "listed_parts", lambda: listed)
    whole, panel, rest = (
        data_set(f"edinburgh_train{part}").read(tmp_path / "gold.train.sure.json") for part in ("", "_panel", "_rest")
    )
    assert pairs_of(panel) == [pairs_of(whole)[1]] == [("a b", "e f")]
    assert pairs_of(rest) == [("a b", "c d"), ("a b", "g h")]


@pytest.mark.parametrize("name", LISTED)
def test_parts_share_no_pair_with_the_tests(data: Path, name: str) -> None:
    hashes = hashes_of(read_task(name, data))
    assert len(hashes) == LISTED[name]
    for test in TESTS:
        assert not set(hashes) & set(hashes_of(read_task(test, data))), test


def test_the_rest_shares_no_sentence_with_the_panel(data: Path) -> None:
    whole, panel, rest = (read_task(f"edinburgh_train{part}", data) for part in ("", "_panel", "_rest"))
    assert Counter(pairs_of(whole)) == Counter(pairs_of(panel)) + Counter(pairs_of(rest))
    trained = held_out_forms(("rest", text) for text in texts_of(rest))
    assert {normal_form(text) for text in texts_of(panel)}.isdisjoint(map(normal_form, texts_of(rest)))
    for name in LISTED:
        assert trained.keys().isdisjoint(map(normal_form, texts_of(read_task(name, data)))), name


@pytest.mark.parametrize("name", ["cxc_val_panel", "turl_train_panel", "qqp_dev_panel"])
def test_samples_have_three_thousand_pairs_of_the_whole(data: Path, name: str) -> None:
    task, whole = read_task(name, data), read_task(name.removesuffix("_panel"), data)
    assert isinstance(task, GradedPairs | LabeledPairs)
    assert len(task.left) == 3_000
    assert set(pairs_of(task)) <= set(pairs_of(whole))
    if isinstance(task, GradedPairs):
        assert 1_000 < len(set(task.groups or [])) < 3_000


def test_the_panel_names_known_sets_once() -> None:
    assert len(set(PANEL)) == len(PANEL)
    assert [data_set(name).name for name in PANEL] == list(PANEL)
