"""Graded and labeled pairs of texts: captions, news, tweets, questions and arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from semblance.models.files.lines import numbered_lines
from semblance.models.files.tables import Row, read_csv, read_headerless_tsv, row_error
from semblance.models.judgments.pairs import Columns, GradedPairs, LabeledPairs, graded_pairs, labeled_pairs
from semblance_lab.evaluation.datasets import benchmark, splits

_AFS = Columns("sentence_1", "sentence_2", "regression_label")
_AFS_TOPICS = {"ArgPairs_GM.csv": "gay marriage", "ArgPairs_GC.csv": "gun control", "ArgPairs_DP.csv": "death penalty"}
_PIT_VOTES, _TURL_VOTES = re.compile(r"\((\d), (\d)\)"), re.compile(r"\((\d), 6\)")
_STS_PARTS = {  # in the order of the papers; SMT of 2013 is not available and is left out by all
    ("12", "test"): ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    ("13", "test"): ("FNWN", "OnWN", "headlines"),
    ("14", "test"): ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    ("15", "test"): ("answers-forums", "answers-students", "belief", "headlines", "images"),
    ("16", "test"): ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
    ("12", "train"): ("MSRpar", "MSRvid", "SMTeuroparl"),
}


def read_afs(path: Path) -> GradedPairs:
    """Read argument facet similarity from the folder of the release or a table.

    The columns of the table are topic, sentence1, sentence2 and score, from 0 (other topic) to 5. The release has one
    file per topic, with the columns regression_label, sentence_1 and sentence_2 and a few bytes that are not UTF-8,
    which are replaced.
    """
    if not path.is_dir():
        return graded_pairs(path, Columns(part="topic"))
    rows = (
        replace(row, fields={**row.fields, "topic": topic})
        for name, topic in _AFS_TOPICS.items()
        for row in read_csv(path / name, _AFS.names, errors="replace")
    )
    return graded_pairs(path, replace(_AFS, part="topic"), rows)


def read_argkp(path: Path) -> LabeledPairs:
    """Read a table of the joined files of ArgKP-2021: columns argument, key_point and label."""
    return labeled_pairs(path, Columns("argument", "key_point", "label"))


def read_cxc(path: Path) -> GradedPairs:
    """Read Crisscrossed Captions, a table with columns sentence1, sentence2 and score_0_5.

    It is sts_*.csv of the release with the captions of COCO beside their ids. Nearly all pairs are connected through
    captions that they share, so that the set has no groups of pairs.
    """
    return graded_pairs(path, Columns(gold="score_0_5"))


def read_paraphrases(path: Path) -> LabeledPairs:
    """Read a table with the columns sentence1, sentence2 and label, or msr_paraphrase_*.txt."""
    released = path.name.startswith("msr_paraphrase_")
    return labeled_pairs(path, Columns("#1 String", "#2 String", "Quality") if released else Columns(gold="label"))


def read_pit(path: Path) -> GradedPairs:
    """Read a table with columns sentence1, sentence2 and score_0_5, or a file of the release.

    dev.data and test.data of the release have no header; their fifth column is the votes of five people, "(2, 3)" for
    two of five, or the digit of an expert.
    """
    if path.suffix == ".data":
        rows = read_headerless_tsv(path, {"sentence1": 2, "sentence2": 3, "label": 4})
        return graded_pairs(path, Columns(gold="label"), rows, _pit_grade)
    return graded_pairs(path, Columns(gold="score_0_5"))


def _pit_grade(row: Row, column: str) -> float:
    votes = _PIT_VOTES.fullmatch(row.fields[column].strip())
    grade = float(votes[1]) if votes else row.number(column)
    if not 0 <= grade <= 5:
        raise row.error(f"{column} is {grade:g}, not between 0 and 5")
    return grade


def read_sick(path: Path) -> GradedPairs:
    """Read a table with columns sentence1, sentence2 and score, or SICK_*.txt of the release."""
    released = path.suffix == ".txt"
    return graded_pairs(path, Columns("sentence_A", "sentence_B", "relatedness_score") if released else Columns())


def read_sts(path: Path, parts: Sequence[str]) -> GradedPairs:
    """Read a table with the columns task, sentence1, sentence2 and score, or a release folder.

    In a folder, the pairs of part X are in STS.input.X.txt (two tab-separated sentences; in 2016 STS2016.input.X.txt
    with two more columns) and their grades in STS.gs.X.txt. Pairs with an empty grade were not graded and are left out.
    """
    rows = (row for part in parts for row in _released_sts(path, part)) if path.is_dir() else None
    return graded_pairs(path, Columns(part="task"), rows)


def _released_sts(folder: Path, part: str) -> Iterator[Row]:
    prefix = "STS2016" if (folder / f"STS2016.input.{part}.txt").exists() else "STS"
    input_file, grades_file = (folder / f"{prefix}.{kind}.{part}.txt" for kind in ("input", "gs"))
    pairs, grades = numbered_lines(input_file), numbered_lines(grades_file)
    if len(pairs) != len(grades):
        problem = f"{len(grades)} grades for the {len(pairs)} lines of {input_file.name}"
        raise row_error(grades_file, len(grades), problem)
    for (number, pair), (_, grade) in zip(pairs, grades, strict=True):
        if not grade.strip():
            continue
        fields = pair.split("\t")
        if len(fields) < 2:
            raise row_error(input_file, number, "one sentence, but a pair needs two, separated by a tab")
        row = {"sentence1": fields[0], "sentence2": fields[1], "score": grade, "task": part.removeprefix("surprise.")}
        yield Row(grades_file, number, row)


def read_stsb(path: Path) -> GradedPairs:
    """Read a table with the columns sentence1, sentence2 and score, or sts-*.csv of the release."""
    if path.suffix == ".csv":  # tab-separated, in spite of its name
        return graded_pairs(path, rows=read_headerless_tsv(path, {"score": 4, "sentence1": 5, "sentence2": 6}))
    return graded_pairs(path)


def read_turl(path: Path) -> GradedPairs | LabeledPairs:
    """Read Twitter_URL_Corpus_*.txt of the release, or a table.

    The release has two tweets and the votes "(k, 6)" a line, with k/6 as the grade. The table has the columns
    sentence1, sentence2 and label, where votes were turned into labels (a match from 4 of 6 on, 3 left out), so that
    the pairs are labeled and not graded.
    """
    columns = Columns(gold="label")
    if path.suffix != ".txt":
        return labeled_pairs(path, columns)
    rows = read_headerless_tsv(path, {"sentence1": 0, "sentence2": 1, "label": 2})
    return graded_pairs(path, columns, rows, _turl_grade)


def _turl_grade(row: Row, column: str) -> float:
    votes = _TURL_VOTES.fullmatch(row.fields[column].strip())
    if not votes or int(votes[1]) > 6:
        raise row.error(f"the votes are {row.fields[column].strip()!r}, expected the form '(4, 6)'")
    return int(votes[1]) / 6


SETS = (
    *benchmark(
        read_afs,
        "Argument Facet Similarity corpus [misra-etal-2016-afs]",
        ("afs", "arguments on three topics, graded 0 to 5", "argument/afs.tsv", "argument/AFS", "AFS"),
    ),
    *splits(
        read_argkp,
        "key point analysis shared task of 2021 [friedman-etal-2021-argkp]",
        "arguments and key points that match or not, {}",
        ["argument/argkp2021.{}.tsv"],
        argkp_dev="dev",
        argkp_train="train",
    ),
    *benchmark(
        read_cxc,
        "Crisscrossed Captions, with the captions of COCO [parekh-etal-2021-cxc]",
        ("cxc_val", "captions of CxC val, graded 0 to 5", "captions/cxc_sts_val_text.tsv"),
    ),
    *splits(
        read_paraphrases,
        "Microsoft Research paraphrase corpus, also in SentEval [dolan-brockett-2005-msrp]",
        "news that say the same, {}",
        ["paraphrase/msrp.{}.tsv", "MRPC/msr_paraphrase_{}.txt"],
        msrp="test",
        msrp_train="train",
    ),
    *splits(
        read_paraphrases,
        "a sample of Quora question pairs, as in GLUE [wang-etal-2018-glue]",
        "questions that ask the same, {}",
        ["paraphrase/qqp_sample.{}.tsv"],
        qqp_dev="dev",
        qqp_train="train",
    ),
    *(
        pit
        for grader, names in (("an expert", {"pit": "test"}), ("votes", {"pit_dev": "dev", "pit_train": "train"}))
        for pit in splits(
            read_pit,
            "SemEval-2015 task 1 [xu-etal-2015-pit]",
            f"tweets of PIT-2015 {{}}, graded 0 to 5 by {grader}",
            ["twitter/pit2015.{}.tsv", "SemEval-PIT2015/data/{}.data", "twitter/{}.data"],
            **names,
        )
    ),
    *benchmark(
        read_sick,
        "SICK of SemEval-2014, also in SentEval [marelli-etal-2014-sick]",
        ("sickr", "SICK relatedness test, grades 1 to 5", "sick/sick.test.tsv", "SICK/SICK_test_annotated.txt"),
        ("sickr_trial", "SICK relatedness trial, grades 1 to 5", "sick/sick.trial.tsv", "SICK/SICK_trial.txt"),
        ("sickr_train", "SICK relatedness train, grades 1 to 5", "sick/sick.train.tsv", "SICK/SICK_train.txt"),
    ),
    *(
        sts
        for (year, split), parts in _STS_PARTS.items()
        for sts in splits(
            partial(read_sts, parts=parts),
            f"SemEval-20{year}, also in SentEval [agirre-etal-20{year}-sts]",
            f"STS 20{year} {{}}: {len(parts)} parts, grades 0 to 5",
            [f"sts12_16/STS{year}.{{}}.tsv", f"STS/STS{year}-en-{{}}", f"STS{year}-en-{{}}"],
            **{f"sts{year}" if split == "test" else f"sts{year}_{split}": split},
        )
    ),
    *splits(
        read_stsb,
        "STS benchmark, also in SentEval and GLUE [cer-etal-2017-stsb]",
        "STS benchmark {}, grades 0 to 5",
        ["stsb/stsb.{}.tsv", "STS/STSBenchmark/sts-{}.csv", "stsbenchmark/sts-{}.csv"],
        stsb="test",
        stsb_dev="dev",
        stsb_train="train",
    ),
    *splits(
        read_turl,
        "Twitter URL corpus [lan-etal-2017-turl]",
        "tweets that share a link, {}",
        [
            "twitter/Twitter_URL_Corpus_{}.txt",
            "Twitter-URL-Corpus/Twitter_URL_Corpus_{}.txt",
            "twitter/turl.{}.tsv",
        ],
        turl="test",
        turl_train="train",
    ),
)
