"""Training rows and running text: reading them, errors with file and line, and the rows left out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from semblance.models.errors import BadDataSet
from semblance.models.judgments.pairs import GradedPairs
from semblance_lab.evaluation.contamination import held_out_forms, normal_form, texts_of
from semblance_lab.evaluation.tasks import Rankings, Retrieval, Triplets, WordAlignedPair, WordAlignment
from semblance_lab.training.errors import BadTrainingData
from semblance_lab.training.recipe import Recipe
from semblance_lab.training.recipes.sbert_nli import SbertNli
from semblance_lab.training.recipes.sbert_regression import SbertRegression
from semblance_lab.training.recipes.surrogate import Surrogate
from semblance_lab.training.training_data import TrainingRows, read_rows, read_running_text
from tests.support.text_files import write, write_table


def read(file: Path, recipe: Recipe) -> TrainingRows:
    return read_rows(file, recipe.text_columns(), recipe.label, recipe.label_value, {})


def read_pairs(file: Path, evaluated: Mapping[str, Collection[str]]) -> TrainingRows:
    return read_rows(file, ["text_a", "text_b"], None, SbertNli().label_value, evaluated)


def test_labels_become_numbers_and_undecided_rows_are_counted(tmp_path: Path) -> None:
    rows = [("label", "premise", "hypothesis"), ("neutral", "a", "b"), ("-", "c", "d"), ("contradiction", "e", "f")]
    found = read(write_table(tmp_path / "nli.tsv", rows), SbertNli())
    assert found.texts == {"premise": ["a", "e"], "hypothesis": ["b", "f"]}
    assert (found.labels, found.unlabeled, len(found)) == ([2, 0], 1, 2)
    with pytest.raises(BadDataSet, match=r"nli.tsv, line 5: label is 'Maybe', not one of contradiction, entailment"):
        read(write_table(tmp_path / "nli.tsv", [*rows, ("Maybe", "g", "h")]), SbertNli())


def test_grades_are_mapped_to_the_unit_interval(tmp_path: Path) -> None:
    recipe = SbertRegression(lowest=1, highest=5)
    rows = [("sentence1", "sentence2", "score"), ("a", "b", "1"), ("c", "d", "4"), ("e", "f", "5.5")]
    assert read(write_table(tmp_path / "graded.tsv", rows[:3]), recipe).labels == [0.0, 0.75]
    with pytest.raises(BadDataSet, match=r"line 4: score is 5.5, not from 1 to 5"):
        read(write_table(tmp_path / "graded.tsv", rows), recipe)


def test_fields_by_the_columns_of_the_recipe_leave_others_out() -> None:
    assert SbertRegression(fields={"sentence2": "rechts"}).fields == ("sentence1", "rechts")
    named = SbertRegression(fields={"sentence1": "links"}, label="Note").own_names()
    assert named == {"sentence1": "links", "sentence2": "sentence2", "score": "Note"}
    with pytest.raises(ValidationError, match=r"score is none of the text columns .*; the setting label names the col"):
        SbertRegression(fields={"score": "Note"})


def test_scores_of_a_teacher_can_be_rescaled(tmp_path: Path) -> None:
    scores = [("sentence1", "sentence2", "score"), ("a", "b", "-0.5"), ("c", "d", "0.975"), ("e", "f", "1")]
    file = write_table(tmp_path / "scored.tsv", scores)
    assert read(file, Surrogate()).labels == [-0.5, 0.975, 1.0]
    assert read(file, Surrogate(lowest=0.25)).labels == pytest.approx([-1, 0.725 / 0.75, 1])
    with pytest.raises(BadDataSet, match=r"line 2: score is -0.5, not from 0.8 to 1"):
        read(file, Surrogate(lowest=0.9))
    with pytest.raises(ValidationError, match="lowest must be below highest"):
        Surrogate(lowest=1)


def test_empty_files_and_missing_columns_are_refused(tmp_path: Path) -> None:
    for name, lines, complaint in (
        ("empty.tsv", [], "the file is empty"),
        ("one.tsv", ["premise", "a sentence"], "no column is named hypothesis, label; the columns are premise"),
        ("header.tsv", ["premise\thypothesis\tlabel"], "header.tsv has no row to train on"),
    ):
        with pytest.raises((BadDataSet, BadTrainingData), match=complaint):
            read(write(tmp_path / name, *lines), SbertNli())


def test_commas_and_quotes_are_read_from_csv(tmp_path: Path) -> None:
    found = read_pairs(write(tmp_path / "pairs.csv", "text_a,text_b", '"one, two",three'), {})
    assert found.texts == {"text_a": ["one, two"], "text_b": ["three"]}
    assert found.labels is None


def test_evaluated_rows_are_left_out_and_counted_by_set(tmp_path: Path) -> None:
    """Whatever their case and punctuation; texts of three words are no sign of a test set."""
    guitar, asleep, dog = "A man plays a guitar.", "The cat's asleep!", "A dog runs."
    texts = [("stsb", guitar), ("sickr", guitar), ("sickr", asleep), ("ists_images", dog)]
    rows = [
        ("text_a", "text_b"),
        ("a MAN plays -- a guitar", "The cat’s asleep"),
        ("a man plays a guitar", "x"),
        ("y", "the cat's ASLEEP"),
        ("a dog runs", "three words stay"),
        ("a man plays the guitar", "z"),
    ]
    found = read_pairs(write_table(tmp_path / "pairs.tsv", rows), held_out_forms(texts))
    assert list(zip(*found.texts.values(), strict=True)) == rows[4:]
    assert found.removed == 3
    assert list(found.removed_by.items()) == [("sickr", 3), ("stsb", 2)]
    with pytest.raises(BadTrainingData, match="3 left out as evaluated"):
        read_pairs(write_table(tmp_path / "pairs.tsv", rows[:4]), held_out_forms(texts))


@given(st.lists(st.sampled_from(["Dog", "cat's", "a", "--", "é"]), max_size=6))
def test_texts_of_four_words_are_held_out(words: list[str]) -> None:
    text = " ".join(words)
    count = sum(2 if word == "cat's" else int(word != "--") for word in words)
    assert (list(held_out_forms([("stsb", text)])) == [normal_form(text)]) == (count >= 4)


@given(st.text())
@example("J\N{COMBINING CARON}")
def test_equivalent_unicode_texts_have_one_normal_form(text: str) -> None:
    apart = unicodedata.normalize("NFD", text)
    assert normal_form(apart) == normal_form(text) == normal_form(normal_form(text))


def test_all_texts_of_a_task_count_as_evaluated() -> None:
    assert set(texts_of(GradedPairs(["a"], ["b"], [1.0], ["t"]))) == {"a", "b"}
    assert set(texts_of(Triplets(["a"], ["b"], ["c"]))) == {"a", "b", "c"}
    assert set(texts_of(Rankings(["q"], [["a", "b"]], [[1, 0]]))) == {"q", "a", "b"}
    pair = WordAlignedPair("1", ("a", "b"), ("c",), frozenset(), frozenset())
    assert set(texts_of(WordAlignment([pair]))) == {"a b", "c"}
    assert set(texts_of(Retrieval({"d": "a"}, {"q": "b"}, {"q": {"d": 1}}))) == {"a", "b"}


def test_running_text_of_all_files_is_read_without_evaluated_texts(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.txt", "It was  a dark night.", "", "Too short here", "The storm came from the west.")
    objects = write(tmp_path / "b.jsonl", '{"text": "She sold the old house.", "doc": 1}', '{"text": ""}')
    found = read_running_text([lines, objects], ())
    assert found.texts == ["It was a dark night.", "The storm came from the west.", "She sold the old house."]
    assert (len(found), found.removed) == (3, 0)
    some = read_running_text([lines, objects], {"the storm came from the west"})
    assert (some.texts, some.removed) == ([found.texts[0], found.texts[2]], 1)
    assert len({read_running_text(files, ()).sha256 for files in ([lines], [objects], [lines, objects])}) == 3


@pytest.mark.parametrize(
    ("name", "line", "complaint"),
    [
        ("a.jsonl", '{"title": "x"}', "a.jsonl, line 1: the field text is missing or no string"),
        ("a.jsonl", '{"text": 3}', "a.jsonl, line 1: the field text is missing or no string"),
        ("a.jsonl", "no JSON", "a.jsonl, line 1: this is not JSON"),
        ("a.txt", "Too short", "a.txt: no text of 4 words or more to train with"),
    ],
)
def test_files_without_running_text_are_refused(name: str, line: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(BadTrainingData, match=re.escape(complaint)):
        read_running_text([write(tmp_path / name, line)], ())


def test_an_evaluated_row_takes_its_neighbor_with_it(tmp_path: Path) -> None:
    rows = write_table(tmp_path / "a.tsv", [("text",), *((text,) for text in "abcdefg")])
    for in_twos, kept in ((False, "abdefg"), (True, "abefg")):
        found = read_rows(rows, ["text"], None, SbertNli().label_value, {"c": {"stsb"}}, in_twos=in_twos)
        assert "".join(found.texts["text"]) == kept
        assert (found.removed, dict(found.removed_by)) == (7 - len(kept), {"stsb": 7 - len(kept)})
    found = read_rows(rows, ["text"], None, SbertNli().label_value, {"g": {"stsb"}}, in_twos=True)
    assert "".join(found.texts["text"]) == "abcdef"
