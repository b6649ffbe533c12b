"""The STS tasks of SemEval 2012 to 2016: 24 parts in five years, pairs graded from 0 to 5."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from semblance.models.files.lines import numbered_lines
from semblance.models.files.tables import Row, row_error
from semblance.models.judgments.pairs import Columns, GradedPairs, graded_pairs
from semblance_lab.evaluation.datasets import DataSet

# the parts in the order of the papers; SMT of 2013 is not available and is left out by all
_PARTS = {
    "12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "12_train": ("MSRpar", "MSRvid", "SMTeuroparl"),
    "13": ("FNWN", "OnWN", "headlines"),
    "14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}


def read(path: Path, parts: Sequence[str]) -> GradedPairs:
    """Read a table with the columns task, sentence1, sentence2 and score, or a release folder.

    In a folder, the pairs of part X are in STS.input.X.txt (two tab-separated sentences; in 2016 STS2016.input.X.txt
    with two more columns) and their grades in STS.gs.X.txt. Pairs with an empty grade were not graded and are left out.
    """
    rows = (row for part in parts for row in _released(path, part)) if path.is_dir() else None
    return graded_pairs(path, Columns(part="task"), rows)


def _released(folder: Path, part: str) -> Iterator[Row]:
    prefix = "STS2016" if (folder / f"STS2016.input.{part}.txt").exists() else "STS"
    input_file, grades_file = (folder / f"{prefix}.{kind}.{part}.txt" for kind in ("input", "gs"))
    pairs, grades = numbered_lines(input_file), numbered_lines(grades_file)
    if len(pairs) != len(grades):
        raise row_error(
            grades_file, len(grades), f"{len(grades)} grades for the {len(pairs)} lines of {input_file.name}"
        )
    for (number, pair), (_, grade) in zip(pairs, grades, strict=True):
        if not grade.strip():
            continue
        fields = pair.split("\t")
        if len(fields) < 2:
            raise row_error(input_file, number, "one sentence, but a pair needs two, separated by a tab")
        row = {"sentence1": fields[0], "sentence2": fields[1], "score": grade, "task": part.removeprefix("surprise.")}
        yield Row(grades_file, number, row)


def _year(year: str, source: str, folder: str, split: str = "test") -> DataSet:
    key = year if split == "test" else f"{year}_{split}"
    return DataSet(
        name=f"sts{key}",
        what=f"STS 20{year} {split}: {len(_PARTS[key])} parts, grades 0 to 5",
        source=f"SemEval-20{year}, also in SentEval [{source}]",
        files=(f"sts12_16/STS{year}.{split}.tsv", f"STS/{folder}", folder),
        read=partial(read, parts=_PARTS[key]),
    )


SETS = (
    _year("12", "agirre-etal-2012-sts", "STS12-en-test"),
    _year("13", "agirre-etal-2013-sts", "STS13-en-test"),
    _year("14", "agirre-etal-2014-sts", "STS14-en-test"),
    _year("15", "agirre-etal-2015-sts", "STS15-en-test"),
    _year("16", "agirre-etal-2016-sts", "STS16-en-test"),
    _year("12", "agirre-etal-2012-sts", "STS12-en-train", "train"),
)
