"""The same rows in every format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semblance.models.errors import BadDataSet
from semblance.service.files.formats.page_texts import html_page
from semblance.service.files.opening import open_source
from semblance.service.files.sources import Format, Reading, RowProblem, is_table
from tests.support.text_files import write

ROWS = [{"id": "a", "text": 'One "text", in two\nlines; or more'}, {"id": "b", "text": "zwei é\u2028漢"}]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def csv(rows: Sequence[Mapping[str, str]], separator: str = ",") -> bytes:
    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    lines = [separator.join(map(quoted, each)) for each in table]
    return "\r\n".join(lines).encode("utf-8-sig")


WRITERS: dict[str, Callable[[Path], object]] = {
    "a.csv": lambda file: file.write_bytes(csv(ROWS)),
    "a.csv.gz": lambda file: file.write_bytes(gzip.compress(csv(ROWS))),
    "semicolons.csv": lambda file: file.write_bytes(csv(ROWS, ";")),
    "a.jsonl": lambda file: file.write_text("\n\n".join(map(json.dumps, ROWS))),
    "a.json.gz": lambda file: file.write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode())),
    "a.parquet": lambda file: pq.write_table(pa.Table.from_pylist(ROWS), file),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_holds_the_same_rows(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    source = open_source(tmp_path / name)
    read: list[int] = []
    for _ in range(2):
        assert [row.fields for row in source.rows(read.append)] == ROWS
    assert sum(read) == 2 * source.size
    assert source.columns == (None if "json" in name else ("id", "text"))


@pytest.mark.parametrize(("name", "numbers"), [("a.csv", [2, 4]), ("a.jsonl", [1, 3]), ("a.parquet", [1, 2])])
def test_rows_are_numbered_by_their_first_line(tmp_path: Path, name: str, numbers: list[int]) -> None:
    WRITERS[name](tmp_path / name)
    assert [row.number for row in open_source(tmp_path / name).rows()] == numbers


def test_quotes_are_plain_characters_in_tsv(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "a.tsv", "id\ttext", '1\t"a" b"'))
    assert [row.fields for row in source.rows()] == [{"id": "1", "text": '"a" b"'}]


def test_columns_without_a_name_are_left_out(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "a.csv", ",text,", "0,a,", "1,b,x"))
    assert source.columns == ("", "text", "")
    assert [row.fields for row in source.rows()] == [{"text": "a"}, {"text": "b"}]
    assert source.unnamed == [1, 3]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("a.csv", ("id,text,", "1,a,", "2,b, ")),
        ("a.csv", ("id;text;;", "1;a", "2;b;;;")),  # as Excel leaves out, or adds, empty fields at the end of some rows
        ("a.tsv", ("id\ttext\t", "1\ta\t\t", "2\tb")),
        ("a.csv", ("id,text", "1,a,", "2,b")),
    ],
)
def test_empty_fields_at_the_end_of_rows_are_ignored(tmp_path: Path, name: str, lines: tuple[str, ...]) -> None:
    source = open_source(write(tmp_path / name, *lines))
    assert [row.fields for row in source.rows()] == [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}]
    assert source.unnamed == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("id,text,", "1,a,x,y"), "line 2: 4 fields, but the first line names 3 columns"),
        (("id,,text,", "1,,a,", "2"), "line 3: 1 fields, but the first line names 4 columns"),
        (("id,text", "1,a,,x"), "line 2: 4 fields"),
    ],
)
def test_other_fields_beyond_the_columns_are_rejected(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadDataSet, match=message):
        list(open_source(write(tmp_path / "a.csv", *lines)).rows())


STORED = ["one\r\ntwo", "one\ntwo", "one\rtwo", "\r\n\r\n", 'a "quote"\r\n,;\t\r', "\r", "end\n\r\n", "\u2028\x85"]


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_line_ends_in_quoted_fields_are_kept(tmp_path: Path, name: str, ends: str) -> None:
    lines = ["id,text,n", *(f"{i},{quoted(text)},{i}" for i, text in enumerate(STORED))]
    content = ends.join(lines).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    rows = list(open_source(tmp_path / name).rows())
    assert [row.fields for row in rows] == [{"id": str(i), "text": text, "n": str(i)} for i, text in enumerate(STORED)]
    before = [sum(text.count("\n") for text in STORED[:i]) for i in range(len(STORED))]
    assert [row.number for row in rows] == [2 + i + more for i, more in enumerate(before)]


def test_carriage_returns_outside_of_quotes_are_rejected_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'text,n\r\n"a\rb",1\r\nc\rd,2\r\n')
    with pytest.raises(BadDataSet, match=r"a\.csv, line 3: a carriage return stands outside of quotes"):
        list(open_source(tmp_path / "a.csv").rows())
    (tmp_path / "old.csv").write_bytes(b"text,n\ra,1\rb,2\r")
    with pytest.raises(BadDataSet, match=r"old\.csv, line 1: a carriage return stands outside of quotes"):
        open_source(tmp_path / "old.csv")


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("A.CSV", "a.csv"),
        ("A.Csv.GZ", "a.csv.gz"),
        ("Lines.Jsonl", "a.jsonl"),
        ("a.JSON.gz", "a.json.gz"),
        ("a.PARQUET", "a.parquet"),
    ],
)
def test_suffixes_are_read_in_any_case(tmp_path: Path, name: str, like: str) -> None:
    WRITERS[like](tmp_path / name)
    assert [row.fields for row in open_source(tmp_path / name).rows()] == ROWS
    assert is_table(tmp_path / name)


def test_tab_separated_suffixes_are_read_in_any_case(tmp_path: Path) -> None:
    for name in ("a.Tsv", "a.TAB"):
        file = write(tmp_path / name, "id\ttext", '1\t"a"')
        assert [row.fields for row in open_source(file).rows()] == [{"id": "1", "text": '"a"'}]


def test_the_format_may_be_named(tmp_path: Path) -> None:
    file = write(tmp_path / "export.dat", "text", "a")
    assert [row.fields for row in open_source(file, Reading("csv")).rows()] == [{"text": "a"}]
    with pytest.raises(
        BadDataSet, match=r"no format has the suffix '.dat'; name one \(--format, format\): csv, docx, "
    ):
        open_source(file)


def test_parquet_values_become_json(tmp_path: Path) -> None:
    row = {
        "day": date(2025, 1, 31),
        "at": datetime(2025, 1, 31, 8, tzinfo=UTC),
        "price": Decimal("19.90"),
        "nan": float("nan"),
        "nested": {"tags": ["a"], "days": [date(2025, 2, 1)]},
        "none": None,
    }
    pq.write_table(pa.Table.from_pylist([row] * 300), tmp_path / "a.parquet")
    rows = [row.fields for row in open_source(tmp_path / "a.parquet").rows()]
    assert len(rows) == 300
    assert json.loads(json.dumps(rows[-1])) == {
        "day": "2025-01-31",
        "at": "2025-01-31T08:00:00+00:00",
        "price": 19.9,
        "nan": None,
        "nested": {"tags": ["a"], "days": ["2025-02-01"]},
        "none": None,
    }


def parquet(folder: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "a.parquet")
    return folder / "a.parquet"


TEXTS = ["One", "zwei é\u2028漢", None, "", "x" * 40]
STRING_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
]
BYTES_TYPES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int16(), pa.binary())]


@pytest.mark.parametrize("kind", [*STRING_TYPES, *BYTES_TYPES], ids=str)
def test_texts_of_every_type_of_parquet_are_read(tmp_path: Path, kind: pa.DataType) -> None:
    values = [None if text is None else text.encode() for text in TEXTS] if kind in BYTES_TYPES else TEXTS
    lists = pa.array([[value] for value in values], pa.list_(kind))
    source = open_source(parquet(tmp_path, id=pa.array(range(len(values))), text=pa.array(values, kind), tags=lists))
    assert [row.fields for row in source.rows()] == [
        {"id": number, "text": text, "tags": [text]} for number, text in enumerate(TEXTS)
    ]


def test_bytes_of_one_length_are_texts(tmp_path: Path) -> None:
    source = open_source(parquet(tmp_path, text=pa.array([b"abc", "é!".encode()], pa.binary(3))))
    assert [row.fields for row in source.rows()] == [{"text": "abc"}, {"text": "é!"}]


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b"fine", b"\xff\xd8"),
        ({"bytes": b"fine"}, {"bytes": "é".encode("latin-1")}),
        ([b"fine"], [b"fine", b"\xed\xa0\x80"]),
    ],
)
def test_bytes_that_are_not_utf_8_are_rejected_by_row(tmp_path: Path, good: object, bad: object) -> None:
    rows = [{"id": "1", "text": "a", "image": good}, {"id": "2", "text": "b", "image": bad}] * 200
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    read = list(open_source(tmp_path / "a.parquet").rows())
    assert [row.number for row in read if isinstance(row.fields, RowProblem)] == list(range(2, 401, 2))
    assert read[1].fields == RowProblem(
        "invalid_value", "image: its bytes are not UTF-8; write the file without the column"
    )


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (
            lambda folder: parquet(folder, wait=[timedelta(1)]),
            r"the column wait is of type duration\[us\]; write the file without it",
        ),
        (lambda folder: parquet(folder, a=[{"wait": timedelta(1)}]), r"the column a is of type struct<wait: duration"),
        (lambda folder: write(folder / "a.parquet", "no"), r"a\.parquet cannot be read as Parquet: "),
        (lambda folder: write(folder / "a.json", '[{"id": "1"},'), r"a\.json is not JSON: "),
        (lambda folder: write(folder / "a.jsonl", '[{"id": "1"}]'), "a JSON list: name it .json, or write"),
        (lambda folder: write(folder / "a.xlsx", "PK"), "a workbook is not read: save its sheet as CSV"),
        (lambda folder: write(folder / "a.csv", "id,text,id"), r"a\.csv, line 1: two columns are named id"),
        (lambda folder: folder / "absent.csv", r"absent\.csv cannot be read: No such file"),
    ],
)
def test_unusable_files_are_refused_when_opened(tmp_path: Path, prepare: Callable[[Path], Path], message: str) -> None:
    with pytest.raises(BadDataSet, match=message):
        open_source(prepare(tmp_path))


@pytest.mark.parametrize("name", ["csv", "tsv"])
def test_text_in_another_encoding_than_named_is_refused_by_line(tmp_path: Path, name: Format) -> None:
    file = tmp_path / "latin1.txt"
    file.write_bytes("text\na\ncafé\n".encode("latin-1"))
    with pytest.raises(BadDataSet, match=r"latin1\.txt, line 3: this is not UTF-8; save the file as UTF-8"):
        list(open_source(file, Reading(name, "utf-8")).rows())
    with pytest.raises(BadDataSet, match=r"latin1\.txt, after line 0: this is not cp932; name another encoding"):
        list(open_source(file, Reading(name, "cp932")).rows())


def test_a_damaged_parquet_file_is_refused_by_row(tmp_path: Path) -> None:
    file = parquet(tmp_path, text=[f"text {i}" for i in range(5000)])
    source = open_source(file)
    content = bytearray(file.read_bytes())
    content[40 : len(content) // 2] = bytes(len(content) // 2 - 40)
    file.write_bytes(content)
    with pytest.raises(BadDataSet, match=r"a\.parquet, after row \d+: the file is damaged: "):
        list(source.rows())


NAVIGATION = "<nav>Home</nav><div role=search>Find</div>"
FOOTER = "<aside>Related</aside><dialog>We use cookies.</dialog><footer>Imprint</footer>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<header>{NAVIGATION}Shop</header><p>Lamps flicker.</p>{FOOTER}", "Lamps flicker."),
        (f"Skip<main><header><h1>Lamps</h1></header><p>They flicker.{NAVIGATION}</main>Ads", "Lamps\nThey flicker."),
        (f"Skip<article>One.{FOOTER}</article>", "One."),
        ("<article>One.</article><article>Two.</article>", "One.\nTwo."),
        ("<main></main><div>Made by a script.</div>", "Made by a script."),
        ("<form>Name <input></form><p>Write to us.</p>", "Write to us."),
        ("<form><h1>All of a page</h1> is a form.</form>", "All of a page\nis a form."),
        ("<nav>A map</nav><footer>of the site</footer>", "A map\nof the site"),
    ],
)
def test_what_stands_around_a_page_is_left_out(body: str, text: str) -> None:
    page = html_page(f"<!doctype html><title>A title</title><body><!-- a comment -->{body}</body>")
    assert (page.title, page.text) == ("A title", text)
