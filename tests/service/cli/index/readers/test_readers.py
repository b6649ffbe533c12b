"""The same rows in every format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semblance.models.errors import BadDataSet
from semblance.service.cli.index.readers.sources import Format, open_source
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
    source = open_source(tmp_path / name, None)
    read: list[int] = []
    for _ in range(2):
        assert [row.fields for row in source.rows(read.append)] == ROWS
    assert sum(read) == 2 * source.size
    assert source.columns == (None if "json" in name else ("id", "text"))


@pytest.mark.parametrize(("name", "numbers"), [("a.csv", [2, 4]), ("a.jsonl", [1, 3]), ("a.parquet", [1, 2])])
def test_rows_are_numbered_by_their_first_line(tmp_path: Path, name: str, numbers: list[int]) -> None:
    WRITERS[name](tmp_path / name)
    assert [row.number for row in open_source(tmp_path / name, None).rows()] == numbers


def test_quotes_are_plain_characters_in_tsv(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "a.tsv", "id\ttext", '1\t"a" b"'), None)
    assert [row.fields for row in source.rows()] == [{"id": "1", "text": '"a" b"'}]


def test_columns_without_a_name_are_left_out(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "a.csv", ",text,", "0,a,", "1,b,x"), None)
    assert source.columns == ("text",)
    assert [row.fields for row in source.rows()] == [{"text": "a"}, {"text": "b"}]


def test_the_format_may_be_named(tmp_path: Path) -> None:
    file = write(tmp_path / "export.txt", "text", "a")
    assert [row.fields for row in open_source(file, "csv").rows()] == [{"text": "a"}]
    with pytest.raises(BadDataSet, match=r"no format has the suffix '.txt'; pass --format with one of csv, jsonl, "):
        open_source(file, None)


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
    rows = [row.fields for row in open_source(tmp_path / "a.parquet", None).rows()]
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


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda folder: parquet(folder, image=[b"x"]), "the column image is of type binary; write the file without it"),
        (lambda folder: parquet(folder, image=[{"bytes": b"x"}]), "the column image is of type struct<bytes: binary>"),
        (lambda folder: write(folder / "a.parquet", "no"), r"a\.parquet cannot be read as Parquet: "),
        (lambda folder: write(folder / "a.json", '[{"id": "1"},'), "a JSON array: write one object a line"),
        (lambda folder: write(folder / "a.csv", "id,text,id"), r"a\.csv, line 1: two columns are named id"),
        (lambda folder: folder / "absent.csv", r"absent\.csv cannot be read: No such file"),
    ],
)
def test_unusable_files_are_refused_when_opened(tmp_path: Path, prepare: Callable[[Path], Path], message: str) -> None:
    with pytest.raises(BadDataSet, match=message):
        open_source(prepare(tmp_path), None)


@pytest.mark.parametrize("name", ["csv", "tsv"])
def test_text_that_is_not_utf_8_is_refused_by_line(tmp_path: Path, name: Format) -> None:
    file = tmp_path / "latin1.txt"
    file.write_bytes("text\na\ncafé\n".encode("latin-1"))
    with pytest.raises(BadDataSet, match=r"latin1\.txt, line 3: this is not UTF-8; save the file as UTF-8"):
        list(open_source(file, name).rows())


def test_a_damaged_parquet_file_is_refused_by_row(tmp_path: Path) -> None:
    file = parquet(tmp_path, text=[f"text {i}" for i in range(5000)])
    source = open_source(file, None)
    content = bytearray(file.read_bytes())
    content[40 : len(content) // 2] = bytes(len(content) // 2 - 40)
    file.write_bytes(content)
    with pytest.raises(BadDataSet, match=r"a\.parquet, after row \d+: the file is damaged: "):
        list(source.rows())
