"""Layouts of the releases of benchmarks, which give the same tasks as tables, and errors that name file and line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.datasets import data_set, data_sets
from semblance_lab.evaluation.tasks import Rankings, Retrieval, Triplets
from tests.lab.evaluation.samples import JUDGED, ROW, write_collection
from tests.support.text_files import write, write_json, write_table


def test_pit_votes_and_digits_are_grades(tmp_path: Path) -> None:
    rows = [("17", "8 Mile", "a b", "c", label, "tags", "tags") for label in ("(2, 3)", "4", "(0, 5)")]
    task = data_set("pit").read(write_table(tmp_path / "test.data", rows))
    assert task == GradedPairs(("a b",) * 3, ("c",) * 3, (2.0, 4.0, 0.0), ("",) * 3)
    for bad in ("----", "(7)", "nan", "", "(9, 9)", "77", "-3"):
        file = write_table(tmp_path / "dev.data", [*rows, (*rows[0][:4], bad)])
        with pytest.raises(BadDataSet, match=r"dev\.data, line 4: label is"):
            data_set("pit_dev").read(file)


def test_votes_of_the_url_corpus_are_sixths(tmp_path: Path) -> None:
    file = tmp_path / "Twitter_URL_Corpus_test.txt"
    rows = [("a", "b", "(3, 6)", "link"), ("c", "d", "(6, 6)", "link")]
    assert data_set("turl").read(write_table(file, rows)) == GradedPairs(("a", "c"), ("b", "d"), (0.5, 1.0), ("", ""))
    for bad in ("3", "(7, 6)", "(3, 5)"):
        with pytest.raises(BadDataSet, match=r"Corpus_test\.txt, line 3: the votes are"):
            data_set("turl").read(write_table(file, [*rows, ("a", "b", bad, "link")]))


def test_afs_release_has_a_csv_file_per_topic(tmp_path: Path) -> None:
    header = "regression_label,more,sentence_1,sentence_2"
    for topic in ("GM", "GC"):
        write(tmp_path / f"ArgPairs_{topic}.csv", header, '2.5,x,"a, ""b""",c')
    with pytest.raises(BadDataSet, match=r"ArgPairs_DP\.csv cannot be read"):
        data_set("afs").read(tmp_path)
    (tmp_path / "ArgPairs_DP.csv").write_bytes(f"{header}\r\n4,x,caf".encode() + b"\xe9,d\r\n")
    task = data_set("afs").read(tmp_path)
    said = (('a, "b"', 'a, "b"', "caf\ufffd"), ("c", "c", "d"), (2.5, 2.5, 4.0))
    assert task == GradedPairs(*said, ("gay marriage", "gun control", "death penalty"))
    table = [("topic", "sentence1", "sentence2", "score"), *zip(task.subtasks, *said, strict=True)]
    assert data_set("afs").read(write_table(tmp_path / "afs.tsv", table)) == task
    write(tmp_path / "ArgPairs_GC.csv", header, "high,x,a,b")
    with pytest.raises(BadDataSet, match=r"ArgPairs_GC\.csv, line 2: regression_label is 'high'"):
        data_set("afs").read(tmp_path)


def test_triplets_are_read_from_both_layouts(tmp_path: Path) -> None:
    release = write(tmp_path / "test.csv", "Sentence1,Sentence2,Sentence3,Article Title", '"a, x",b,c,T')
    ours = write_table(tmp_path / "triplets.tsv", [("anchor", "positive", "negative"), ("a, x", "b", "c")])
    task = Triplets(("a, x",), ("b",), ("c",))
    assert data_set("wiki_sections").read(release) == data_set("wiki_sections").read(ours) == task
    with pytest.raises(BadDataSet, match="contains no triplets"):
        data_set("wiki_sections").read(write(release, "Sentence1,Sentence2,Sentence3"))


def test_wikiqa_release_gives_the_same_task_without_unanswered_questions(data: Path, tmp_path: Path) -> None:
    task = data_set("wikiqa_dev").read(data / "ir" / "wikiqa" / "dev.tsv")
    assert isinstance(task, Rankings)
    rows: list[tuple[object, ...]] = [("QuestionID", "Question", "DocumentID", "DocumentTitle", "Sentence", "Label")]
    rows.append(("Q-1", "without an answer", "D", "T", "a sentence", 0))
    for number, (query, *answers) in enumerate(zip(task.queries, task.candidates, task.relevance, strict=True)):
        rows += [(f"Q{number}", query, "D", "T", text, int(grade)) for text, grade in zip(*answers, strict=True)]
    file = write_table(tmp_path / "WikiQA-dev.tsv", rows)
    assert data_set("wikiqa_dev").read(file) == task
    with pytest.raises(BadDataSet, match="no question with an answer"):
        data_set("wikiqa_dev").read(write_table(file, rows[:2]))


def test_msrp_release_has_its_own_column_names(tmp_path: Path) -> None:
    lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", '1\t7\t8\tHe said "a\tb', "0\t7\t8\tc\td"]
    file = write(tmp_path / "msr_paraphrase_test.txt", *lines)
    assert data_set("msrp").read(file) == LabeledPairs(('He said "a', "c"), ("b", "d"), (True, False))


def test_rankings_are_read_from_json_lines(tmp_path: Path) -> None:
    task = data_set("dq").read(write_json(tmp_path / "dq.jsonl", ROW, {**ROW, "relevance": [0.5, 2]}))
    assert task == Rankings(("q r",) * 2, (["a", "b"],) * 2, ([1.0, 0.0], [0.5, 2.0]))
    with pytest.raises(BadDataSet, match="contains no queries"):
        data_set("dq").read(write(tmp_path / "dq.jsonl"))


@pytest.mark.parametrize(
    "change",
    [
        {"query": ""},
        {"query": None},
        {"candidates": []},
        {"candidates": ["a", " "]},
        {"candidates": "ab"},
        {"relevance": [1]},
        {"relevance": None},
        {"relevance": [1, -1]},
        {"relevance": [1, float("nan")]},
        {"relevance": [1, 10**400]},
        {"relevance": [True, 0]},
        {"relevance": ["1", 0]},
        {"relevance": [0, 0]},
    ],
)
def test_invalid_ranking_error_names_file_and_line(tmp_path: Path, change: Mapping[str, object]) -> None:
    file = write_json(tmp_path / "dq.jsonl", ROW, {**ROW, **change})
    with pytest.raises(BadDataSet, match=r"dq\.jsonl, line 2: "):
        data_set("dq").read(file)


def test_empty_documents_and_queries_without_relevant_ones_are_dropped(tmp_path: Path) -> None:
    task = Retrieval({"d1": "t u", "d3": "v"}, {"q1": "w"}, {"q1": {"d1": 2.0, "d9": 1.0}})
    folder = write_collection(tmp_path)
    assert data_set("adi").read(folder) == task
    (folder / "qrels.tsv").unlink()
    write_table(folder / "qrels" / "test.tsv", [("query-id", "corpus-id", "score"), *JUDGED[1:]])
    assert data_set("adi").read(folder) == task


@pytest.mark.parametrize(
    ("file", "lines", "says"),
    [
        ("corpus.jsonl", ['{"_id": 1, "text": "a"}'], r"corpus\.jsonl, line 1: _id, text .* must be strings"),
        ("corpus.jsonl", ['{"_id": "1"}'], r"corpus\.jsonl, line 1: _id, text"),
        ("corpus.jsonl", ['{"_id": "1", "text": "a"}'] * 2, r"corpus\.jsonl, line 2: duplicate _id '1'"),
        ("queries.jsonl", ['{"_id": "1"'], r"queries\.jsonl, line 1: this is not JSON"),
        ("queries.jsonl", [], "no query with a relevant document"),
        ("qrels.tsv", ["query_id\tdoc_id\trelevance", "q1\td1\tnan"], r"qrels\.tsv, line 2: relevance is 'nan'"),
        ("qrels.tsv", ["query\tdoc"], r"qrels\.tsv, line 1: no column is named query_id, doc_id, relevance"),
    ],
)
def test_invalid_collections_raise(tmp_path: Path, file: str, lines: Sequence[str], says: str) -> None:
    folder = write_collection(tmp_path)
    write(folder / file, *lines)
    with pytest.raises(BadDataSet, match=says):
        data_set("adi").read(folder)


def test_folders_without_the_files_raise(tmp_path: Path) -> None:
    for name in data_sets():
        for folder in (tmp_path, tmp_path / "absent"):
            with pytest.raises(BadDataSet, match="cannot be read"):
                data_set(name).read(folder)


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
