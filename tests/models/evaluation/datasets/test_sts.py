"""STS, the STS benchmark and SICK: tables and releases give equal tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.evaluation.datasets import data_set
from semblance.models.evaluation.tasks import GradedPairs
from tests.support.text_files import write, write_table


def read_pairs(name: str, path: Path) -> GradedPairs:
    task = data_set(name).read(path)
    assert isinstance(task, GradedPairs)
    return task


@pytest.mark.parametrize(
    ("name", "folder"),
    [("sts12", "STS/STS12-en-test"), ("sts14", "STS/STS14-en-test"), ("sts16", "STS/STS16-en-test")],
)
def test_release_folder_gives_the_same_task(data: Path, tmp_path: Path, name: str, folder: str) -> None:
    """With ungraded lines, which must be dropped."""
    task = read_pairs(name, data / data_set(name).files[0])
    parts: defaultdict[str, list[tuple[str, str, float]]] = defaultdict(list)
    for left, right, gold, part in zip(task.left, task.right, task.gold, task.subtasks, strict=True):
        parts[part].append((left, right, gold))
    prefix = "STS2016" if name == "sts16" else "STS"
    for part, rows in parts.items():
        released = f"surprise.{part}" if name == "sts12" and part in {"OnWN", "SMTnews"} else part
        file = tmp_path / folder / f"{prefix}.input.{released}.txt"
        more = ("source", "source") if name == "sts16" else ()
        write_table(file, [("not", "graded", *more), *((left, right, *more) for left, right, _ in rows)])
        write(file.with_name(f"{prefix}.gs.{released}.txt"), "", *(str(gold) for _, _, gold in rows))
    assert folder in data_set(name).files
    again = read_pairs(name, tmp_path / folder)
    assert sorted(_rows(again)) == sorted(_rows(task))
    assert list(Counter(again.subtasks)) == list(Counter(task.subtasks))


def _rows(task: GradedPairs) -> list[tuple[str, str, float, str]]:
    return list(zip(task.left, task.right, task.gold, task.subtasks, strict=True))


def test_released_files_of_stsb_and_sick_give_the_same_task(data: Path, tmp_path: Path) -> None:
    for name in ("stsb", "sickr"):
        known = data_set(name)
        task = read_pairs(name, data / known.files[0])
        rows = list(zip(task.left, task.right, task.gold, strict=True))
        if name == "stsb":
            table: list[tuple[object, ...]] = [(*"abcd", gold, left, right) for left, right, gold in rows]
        else:
            header = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
            table = [header, *((1, left, right, gold, "NEUTRAL") for left, right, gold in rows)]
        assert read_pairs(name, write_table(tmp_path / known.files[1], table)) == task


@pytest.mark.parametrize(
    ("pairs", "grades", "says"),
    [
        (["a\tb", "c\td"], ["1"], r"STS\.gs\.MSRpar\.txt, line 1: 1 grades for the 2 lines of STS\.input\.MSRpar\.txt"),
        (["a\tb", "c"], ["1", "2"], r"STS\.input\.MSRpar\.txt, line 2: one sentence"),
        (["a\tb", "c\td"], ["1", "nan"], r"STS\.gs\.MSRpar\.txt, line 2: score is 'nan'"),
        (["a\tb", "c\t "], ["1", "2"], "line 2: sentence2 is empty"),
    ],
)
def test_invalid_release_files_raise(tmp_path: Path, pairs: list[str], grades: list[str], says: str) -> None:
    with pytest.raises(BadDataSet, match=r"STS\.input\.MSRpar\.txt cannot be read"):
        read_pairs("sts12", tmp_path)
    write(tmp_path / "STS.input.MSRpar.txt", *pairs)
    write(tmp_path / "STS.gs.MSRpar.txt", *grades)
    with pytest.raises(BadDataSet, match=says):
        read_pairs("sts12", tmp_path)


def test_unknown_set_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"there is no 'sts11' among the data sets: choose one of .*sts12"):
        data_set("sts11")
