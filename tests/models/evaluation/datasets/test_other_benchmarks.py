"""The other benchmarks: layouts of the releases, and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.datasets import data_set, data_sets
from semblance.models.evaluation.tasks import GradedPairs, LabeledPairs, Rankings, Retrieval, Triplets
from tests.models.evaluation.samples import JUDGED, ROW, write_collection
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
