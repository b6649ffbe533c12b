"""Reading lines and tables: normalization, and errors with file and line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semblance.models.errors import BadCheckpoint, BadDataSet, SemblanceError
from semblance.models.files import tables
from semblance.models.files.lines import json_lines, numbered_lines, raw_lines
from semblance.models.files.tables import csv_rows, read_csv, read_headerless_tsv, read_table
from semblance.models.judgments.pairs import Columns, GradedPairs, graded_pairs, labeled_pairs
from tests.support.text_files import write

HEADER = "sentence1\tsentence2\tscore"


@pytest.mark.parametrize(
    ("content", "left", "right"),
    [
        (
            "\ufeffsentence1\tsentence2\tscore\r\n\r\n a  b\u00a0\t\u201cc\u201d d\t2.5\r\ne\tf\t3\r\n",
            ("a b", "e"),
            ("\u201cc\u201d d", "f"),
        ),
        ('score\tsentence1\tsentence2\n2.5\t"a\tb"\n3\tc\x85d\te\u2028f', ('"a', "c d"), ('b"', "e f")),
    ],
    ids=["line ends, marks and spaces", "quotes and unusual separators"],
)
def test_texts_of_tsv_are_normalized(
    tmp_path: Path, content: str, left: tuple[str, str], right: tuple[str, str]
) -> None:
    (tmp_path / "pairs.tsv").write_bytes(content.encode())
    assert graded_pairs(tmp_path / "pairs.tsv") == GradedPairs(left, right, (2.5, 3.0), ("", ""))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\tb", "2 fields, but the first line names 3 columns"),
        ("a\tb\t1\t2", "4 fields"),
        ("a\tb\t", "score is '', not a number"),
        ("a\tb\tnan", "score is 'nan', not a number"),
        ("a\tb\t1e999", "not a number"),
        ("a\tb\t1_0", "not a number"),
        ("\tb\t1", "sentence1 is empty"),
        ("a\t \t1", "sentence2 is empty"),
    ],
)
def test_an_invalid_row_is_rejected_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    file = write(tmp_path / "pairs.tsv", HEADER, "a\tb\t1", "", line)
    with pytest.raises(BadDataSet, match=f"pairs.tsv, line 4: .*{message}"):
        graded_pairs(file)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("text1\ttext2\tscore", "a\tb\t1"), "no column is named sentence1, sentence2; the columns are text1, text2"),
        (("sentence1,sentence2,score", "a,b,1"), "the first line is a single field, 'sentence1,sentence2,score': .tsv"),
        ((f"{HEADER}\tscore", "a\tb\t1\t2"), "two columns are named score"),
        ((), "the file is empty"),
    ],
)
def test_a_wrong_header_is_rejected(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadDataSet, match=f"line 1: .*{message}"):
        graded_pairs(write(tmp_path / "pairs.tsv", *lines))


def test_unreadable_files_and_useless_tables_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadDataSet, match=r"absent\.tsv cannot be read: No such file"):
        graded_pairs(tmp_path / "absent.tsv")
    with pytest.raises(BadDataSet, match="cannot be read: Is a directory"):
        graded_pairs(tmp_path)
    with pytest.raises(BadDataSet, match="holds no pairs"):
        graded_pairs(write(tmp_path / "pairs.tsv", HEADER))
    with pytest.raises(BadDataSet, match="all grades are 2; a correlation needs different grades"):
        graded_pairs(write(tmp_path / "equal.tsv", HEADER, "a\tb\t2", "c\td\t2"))
    with pytest.raises(BadDataSet, match="none of the pairs match"):
        labeled_pairs(write(tmp_path / "none.tsv", HEADER, "a\tb\t0", "c\td\t0"), Columns())


def test_labels_are_1_or_true_and_0_or_false(tmp_path: Path) -> None:
    def labels(*values: str) -> object:
        file = write(tmp_path / "labels.tsv", "sentence1\tsentence2\tlabel", *(f"a\tb\t{label}" for label in values))
        return labeled_pairs(file, Columns(gold="label")).matches

    assert labels("1", "0", "True", "false", "1.0") == (True, False, True, False, True)
    with pytest.raises(BadDataSet, match=r"labels\.tsv, line 3: label is 'yes', neither 0 nor 1"):
        labels("1", "yes")


def test_a_headerless_table_may_have_more_fields_than_needed(tmp_path: Path) -> None:
    file = write(tmp_path / "headerless.tsv", "x\ta\tb\tmore", "x\ta")
    rows = read_headerless_tsv(file, {"left": 1, "right": 2})
    assert dict(next(rows).fields) == {"left": "a", "right": "b"}
    with pytest.raises(BadDataSet, match=r"headerless\.tsv, line 2: 2 fields, but at least 3"):
        next(rows)


def test_quoted_csv_fields_may_contain_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.csv", "x,y", '"a, ""b""', 'c",2', "d,3")
    assert [(row.text("x"), row.line) for row in read_csv(file, ("x", "y"))] == [('a, "b" c', 2), ("d", 4)]
    with pytest.raises(BadDataSet, match=r"pairs\.csv, line 2: "):
        list(read_csv(write(file, "x,y", 'a "b" c,"d" e'), ("x", "y")))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_separator_is_the_most_frequent_of_the_header(tmp_path: Path, separator: str) -> None:
    file = write(
        tmp_path / "pairs.csv", separator.join("xyz"), separator.join(["1,5", '"a;b"', "c"]).replace("1,5", '"1,5"')
    )
    [row] = read_csv(file, ("x", "y", "z"))
    assert dict(row.fields) == {"x": "1,5", "y": "a;b", "z": "c"}


def test_csv_errors_name_the_line_where_the_row_begins(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "x,y", "", "a,b", 'c,"never', "closed", "d,e")
    with pytest.raises(BadDataSet, match=r"a\.csv, line 4: unexpected end of data; close every quote"):
        list(read_csv(file, ("x",)))
    file = write(tmp_path / "b.csv", "x,y", '"two', 'lines",b,c')
    with pytest.raises(BadDataSet, match=r"b\.csv, line 2: 3 fields, but the first line names 2 columns"):
        list(read_csv(file, ("x",)))


def test_long_csv_fields_are_read_and_endless_ones_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_CHARS", 600_000)
    file = write(tmp_path / "a.csv", "x", "word " * 100_000)
    assert [len(fields[0]) for _, fields in csv_rows(file)] == [1, 500_000]
    file = write(tmp_path / "b.csv", "x", "a", '"' + "b" * 600_000, "c")
    with pytest.raises(BadDataSet, match=r"b\.csv, line 3: field larger than field limit"):
        list(csv_rows(file))


TABLES = {
    "a.csv": ["text,n", '"a, b",1', "c,"],
    "a.tsv": ["text\tn", "a, b\t1", "c\t"],
    "a.jsonl": ['{"text": "a, b", "n": 1, "more": []}', '{"text": "c", "n": null}'],
}


@pytest.mark.parametrize("name", TABLES)
def test_the_suffix_tells_the_format_of_a_table(tmp_path: Path, name: str) -> None:
    rows = list(read_table(write(tmp_path / name, *TABLES[name]), ("text", "n")))
    assert [row.text("text") for row in rows] == ["a, b", "c"]
    assert rows[0].number("n") == 1
    with pytest.raises(BadDataSet, match=rf"{name}, line \d: n is '', not a number"):
        rows[1].number("n")
    with pytest.raises(
        BadDataSet, match=rf"{name}, line 1: no (column|field) is named Texts; .* text, n.*mean text\?\); do"
    ):
        list(read_table(tmp_path / name, ("Texts",), "; do this"))


@pytest.mark.parametrize("name", ["A.CSV", "a.Tsv", "A.Jsonl"])
def test_pairs_are_read_by_a_suffix_in_any_case(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / name, *TABLES[name.lower()])
    assert [row.text("text") for row in read_table(file, ("text", "n"))] == ["a, b", "c"]
    compressed = tmp_path / f"{name}.GZ"
    compressed.write_bytes(gzip.compress(file.read_bytes()))
    assert [row.text("text") for row in read_table(compressed, ("text", "n"))] == ["a, b", "c"]


def test_pairs_may_have_empty_columns_without_a_name(tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.csv", ",sentence1,sentence2,label,", '0,"a\r\nb",c,1,', "1,d,e,0")
    pairs = labeled_pairs(file, Columns(gold="label"), read_table(file, ("sentence1", "sentence2", "label")))
    assert (pairs.left, pairs.right, pairs.matches) == (("a b", "d"), ("c", "e"), (True, False))
    with pytest.raises(BadDataSet, match=r"no column is named score; the columns are .*; columns without a name: 1, 5"):
        list(read_table(file, ("score",)))


@pytest.mark.parametrize(
    ("line", "message"),
    [(line, "this is not") for line in ("{", "[1]", '"text"', "[" * 100_000, '{"a": "\\ud800"}')]
    + [('{"a": ["b"]}', "a is neither a text nor a number"), ("{}", "no field is named a; there are no fields")],
)
def test_an_unusable_line_of_json_is_rejected(tmp_path: Path, line: str, message: str) -> None:
    file = write(tmp_path / "rows.jsonl", '{"a": 1}', line)
    with pytest.raises(BadDataSet, match=rf"rows\.jsonl, line 2: {message}"):
        list(read_table(file, ("a",)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(st.binary(max_size=80), st.text("ab1\t\n\r\"',{}[]:\ufeff\u2028é", max_size=80).map(str.encode)),
    header=st.booleans(),
)
@pytest.mark.parametrize(
    "reader",
    [
        graded_pairs,
        lambda file: list(read_csv(file, ["a"])),
        lambda file: list(read_headerless_tsv(file, {"a": 1})),
        lambda file: list(read_table(file.rename(file.with_suffix(".jsonl")), ["a"])),
        lambda file: list(json_lines(file)),
    ],
)
def test_any_file_is_read_or_rejected(
    tmp_path: Path, reader: Callable[[Path], object], content: bytes, header: bool
) -> None:
    file = tmp_path / "any"
    file.write_bytes(b"sentence1\tsentence2\tscore\n" * header + content)
    with suppress(BadDataSet):
        reader(file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lines"


def test_only_line_feeds_split_lines_and_windows_marks_are_removed(file: Path) -> None:
    file.write_bytes("\ufeffone\u2028still one\x0b\r\n\ntwo\rtwo\n".encode())
    assert numbered_lines(file) == [(1, "one\u2028still one\x0b"), (2, ""), (3, "two\rtwo")]


@pytest.mark.parametrize("refusal", [BadDataSet, BadCheckpoint])
def test_unreadable_files_raise_the_requested_error(file: Path, refusal: type[SemblanceError]) -> None:
    with pytest.raises(refusal, match="lines cannot be read: No such file"):
        numbered_lines(file, error_type=refusal)
    file.write_bytes(b"fine\n\xff\n")
    with pytest.raises(refusal, match="lines, line 2: this is not UTF-8"):
        numbered_lines(file, error_type=refusal)
    assert numbered_lines(file, "replace") == [(1, "fine"), (2, "\ufffd")]


def test_objects_have_their_line_numbers(file: Path) -> None:
    file.write_text('\n{"a": 1}\n \n{"a": 2}')
    assert list(json_lines(file)) == [(2, {"a": 1}), (4, {"a": 2})]


def test_compressed_lines_equal_plain_ones(tmp_path: Path) -> None:
    content = "\ufeffone\r\n\ntwo é\n".encode() + b"word " * 50_000
    plain, compressed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(content)
    compressed.write_bytes(gzip.compress(content))
    assert numbered_lines(compressed) == numbered_lines(plain)
    for file in (plain, compressed):
        read: list[int] = []
        assert [number for number, _ in raw_lines(file, advance=read.append)] == [1, 2, 3, 4]
        assert sum(read) == file.stat().st_size


@pytest.mark.parametrize(
    "content",
    [b"no gzip\n", gzip.compress(b"cut\n" * 999)[:-9], gzip.compress(b"x\n" * 999)[:20]],
    ids=["no gzip", "without its end", "only the start"],  # the bytes have the time, so that workers would disagree
)
def test_damaged_compressed_files_are_rejected(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(content)
    with pytest.raises(BadDataSet, match=r"a\.jsonl\.gz cannot be decompressed: "):
        list(raw_lines(file))
