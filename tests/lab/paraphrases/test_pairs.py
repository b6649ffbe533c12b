"""Labeled pairs: reading the sets, and leaving out the sentences of the contrast set."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance_lab.paraphrases.pairs import Pair, read_pairs, without_contrasts
from tests.support.text_files import write_table

NLI_COLUMNS = ("premise", "hypothesis", "label")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("snli.dev", "snli.test", "mnli_sample.train", "mnli_sample.dev", "cad_nli.train"):
        write_table(tmp_path / "nli" / f"{name}.tsv", [NLI_COLUMNS])
    sugar = [
        ("sent0 (closest)", "sent1 (caption)", "hard_neg", "kind"),
        *[("o", f"c{i}", f"n{i}", "add_att") for i in range(5)],
    ]
    write_table(tmp_path / "hard_negatives" / "sugarcrepe_triplets.tsv", sugar)
    contrast = [
        ("sentence1", "sentence2", "label", "category"),
        ("A red car.", "A blue car.", "contradiction", "colors"),
        ("A red car.", "A crimson car.", "entailment", "synonyms"),
        ("A red car.", "A fast car.", "neutral", "colors"),
    ]
    write_table(tmp_path / "contrast" / "breaking_nli.tsv", contrast)
    return tmp_path


def test_sets_are_read_with_their_relations(data: Path) -> None:
    rows = [("It  rains .", "It is wet .", "entailment"), ("a", "b", "neutral"), ("c", "d", "-"), ("e", "", "neutral")]
    write_table(data / "nli" / "snli.test.tsv", [NLI_COLUMNS, *rows])
    assert list(read_pairs(data)) == [
        Pair("snli", "entailment", "It rains .", "It is wet .", holds=True, entails=True),
        Pair("snli", "neutral", "a", "b", holds=False, entails=True),
        Pair("sugarcrepe", "add_att", "c0", "n0", holds=False),
        Pair("sugarcrepe", "add_att", "c4", "n4", holds=False),
        Pair("contrast", "colors", "A red car.", "A blue car.", holds=False),
        Pair("contrast", "synonyms", "A red car.", "A crimson car.", holds=True),
        Pair("contrast", "colors", "A red car.", "A fast car.", holds=False),
    ]


def test_a_missing_column_is_named(data: Path) -> None:
    write_table(data / "contrast" / "breaking_nli.tsv", [("sentence1", "sentence2", "label")])
    with pytest.raises(BadDataSet, match=r"breaking_nli.tsv, line 1: no column is named category"):
        list(read_pairs(data))


def test_sentences_of_contrasts_are_left_out_of_other_sets(data: Path) -> None:
    write_table(
        data / "nli" / "cad_nli.train.tsv", [(*NLI_COLUMNS, "kind"), ("a red CAR", "It drives.", "neutral", "x")]
    )
    kept, counts = without_contrasts(read_pairs(data))
    assert counts.dropped == {("cad", "neutral", False): 1}
    assert counts.used == {
        ("sugarcrepe", "add_att", False): 2,
        ("contrast", "colors", False): 2,
        ("contrast", "synonyms", True): 1,
    }
    assert [pair.source for pair in kept] == ["sugarcrepe"] * 2 + ["contrast"] * 3
