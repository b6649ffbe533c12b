"""The inputs and the table of the ablation of the default model."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchmarks.quality.trained_variants import row, settings_of
from benchmarks.quality.words_model import RECIPE, VARIANTS, read_glosses, write_inputs
from semblance_lab.cli.train import read_recipe
from tests.support.text_files import write, write_table

SYNSETS = (
    "  1 This software and database is being provided to you, the LICENSEE, by  ",
    '02084071 05 n 03 dog 0 domestic_dog 0 Canis_familiaris 0 000 | a member of the genus Canis; "the dog barked"  ',
    "05217168 08 n 01 living_body(p) 0 000 | the body | of a living thing  ",
)
HEADER = ("sent0", "sent1", "hard_neg", "source")


def test_a_gloss_is_its_first_word_and_its_definition(tmp_path: Path) -> None:
    write(tmp_path / "data.noun", *SYNSETS)
    assert read_glosses(tmp_path / "data.noun") == [
        'dog: a member of the genus Canis; "the dog barked"',
        "living body: the body | of a living thing",
    ]


def test_only_rows_of_multinli_are_trained_on(tmp_path: Path) -> None:
    for name in ("data.noun", "data.verb", "data.adj"):
        write(tmp_path / name, *SYNSETS)
    write_table(tmp_path / "nli" / "triplets.tsv", [HEADER, ("a", "b", "c", "snli_dev"), ("d", "e", "f", "mnli_dev")])
    write_table(tmp_path / "nli" / "triplets_extra.tsv", [HEADER, ("g", "h", "i", "x:mnli"), ("j", "k", "l", "cad")])
    write_inputs(tmp_path, tmp_path, tmp_path)
    rows = {name: (tmp_path / name).read_text("utf-8").splitlines() for name in ("multinli.tsv", "triplets.tsv")}
    assert [line.split("\t")[0] for line in rows["multinli.tsv"]] == ["sent0", "d", "g"]
    assert [line.split("\t")[0] for line in rows["triplets.tsv"]] == ["sent0", "a", "d", "g", "j"]
    assert len((tmp_path / "glosses.txt").read_text("utf-8").splitlines()) == 1  # the fourth of six


def test_a_row_names_the_set_that_loses_most() -> None:
    figures = row("x", {"cosine": {"a": 0.01, "b": -0.02, "c": 0.04}})
    assert figures == {"variant": "x", "sets": 3, "mean, cosine": "+1.00", "least, cosine": "-2.00 b"}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_valid_recipe_that_differs(name: str, tmp_path: Path) -> None:
    """Only the first equals the shipped recipe."""
    variant, config = VARIANTS[name], tmp_path / "recipe.yaml"
    config.write_text(yaml.safe_dump(settings_of(RECIPE, variant.settings)), "utf-8")
    same = read_recipe("clrcmd", config) == read_recipe("clrcmd", RECIPE)
    assert (same and variant.rows == "multinli.tsv" and variant.wordnet) == (name == "recipe")
