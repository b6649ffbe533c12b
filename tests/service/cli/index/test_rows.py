"""Rows as documents: id, text, typed metadata, and their numbers while a file is sent."""

from __future__ import annotations

import json
import re
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from semblance_client import LineProblem, StoredBatch

from semblance.models.errors import BadDataSet
from semblance.service.cli.index.rows import SHOWN, DocumentRows
from semblance.service.files.column_types import column_types
from semblance.service.files.fields import DocumentFields
from semblance.service.files.opening import open_source
from semblance.service.files.sources import RowProblem, SourceRow
from tests.support.text_files import write


def document(fields: DocumentFields, **values: Any) -> Any:
    made = fields.document(SourceRow(7, values))
    return made if isinstance(made, RowProblem) else json.loads(made)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"id": "a", "text": "t"}, ("a", "t", {})),
        ({"id": 3, "text": "t", "year": 2024}, ("3", "t", {"year": 2024})),
        ({"_id": "a", "title": "T", "text": "t", "metadata": {"url": "u"}}, ("a", "T t", {"url": "u"})),
        ({"_id": "a", "title": "", "text": "t", "metadata": {}}, ("a", "t", {})),
        (
            {"text": "t", "metadata": {"n": None}, "m": None, "tags": ["x"]},
            ("f.csv:7", "t", {"n": None, "tags": ["x"]}),
        ),
        ({"id": "", "_id": None, "text": "t"}, ("f.csv:7", "t", {})),
        ({"text": None, "metadata": "plain"}, ("f.csv:7", "", {"metadata": "plain"})),
    ],
)
def test_default_fields_are_those_of_beir_and_plain_rows(values: dict[str, Any], expected: tuple[Any, ...]) -> None:
    made = document(DocumentFields("f.csv"), **values)
    assert (made["id"], made["text"], made["metadata"]) == expected


def test_named_fields_replace_the_default_ones() -> None:
    fields = DocumentFields("f.csv", "nr", ("subject", "body"))
    made = document(fields, nr="4", subject="S", body="b", id="other", text="kept", title="too")
    assert made == {"id": "4", "text": "S b", "metadata": {"id": "other", "text": "kept", "title": "too"}}
    assert [fields.column(each) for each in ("id", "text", "metadata/year", "metadata", "")] == [
        "nr",
        "subject+body",
        "year",
        "metadata",
        "",
    ]


def test_rows_without_the_named_id_are_named_by_place() -> None:
    fields = DocumentFields("f.csv", "nr")
    assert document(fields, nr="", id="other", text="t") == {"id": "f.csv:7", "text": "t", "metadata": {"id": "other"}}


def test_empty_strings_of_untyped_columns_are_left_out() -> None:
    fields = DocumentFields("f.csv", casts={"year": int, "note": str})
    assert document(fields, id="1", text="t", year="2024", note="", empty=" ")["metadata"] == {"year": 2024}


@pytest.mark.parametrize(
    ("fields", "values", "code", "message"),
    [
        (DocumentFields("f"), {"id": "1", "txt": "t"}, "missing_field", r"are id, txt \(did you mean txt\?\); name"),
        (DocumentFields("f", "nr"), {"text": "t"}, "missing_field", "no field is named nr; .*--id-field"),
        (DocumentFields("f"), {"id": "1", "text": 5}, "invalid_value", "text: it must be a string"),
        (DocumentFields("f"), {"text": "t", "a": 1, "metadata": {"a": 2}}, "invalid_value", "a: it is both"),
    ],
)
def test_other_rows_are_refused_with_field_and_remedy(
    fields: DocumentFields, values: dict[str, Any], code: str, message: str
) -> None:
    problem = document(fields, **values)
    assert isinstance(problem, RowProblem)
    assert problem.code == code
    assert re.search(message, problem.detail)


def test_a_table_without_the_columns_is_refused_with_similar_names() -> None:
    DocumentFields("f.csv").require(["text"])
    DocumentFields("f.csv", "nr", ("a", "b")).require(["b", "nr", "a"])
    for fields, message in (
        (
            DocumentFields("f.csv"),
            r"f\.csv: no column is named text; .* id, Text \(did you mean Text\?\); .*--text-field",
        ),
        (DocumentFields("f.csv", "ids", ("Text",)), r"no column is named ids; .* \(did you mean id\?\); .*--id-field"),
    ):
        with pytest.raises(BadDataSet, match=message):
            fields.require(["id", "Text"])


def typed(*values: str) -> list[object]:
    casts = column_types(SourceRow(number, {"x": value}) for number, value in enumerate(values, 2))
    return [casts["x"](value) for value in values if value.strip()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1", "", "-20", " 0 "), [1, -20, 0]),
        (("999999999999999", "1"), [999999999999999, 1]),
        (("1", "2.5", "-.5", "1e-3", "3."), [1.0, 2.5, -0.5, 0.001, 3.0]),
        (("true", "False", "TRUE", ""), [True, False, True]),
    ],
)
def test_a_column_of_one_type_gets_this_type(values: tuple[str, ...], expected: list[object]) -> None:
    found = typed(*values)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


ODD = "01067 +49 1234567890123456 12345678901234567890.0e999 nan inf 1_000 1,5 0x10 yes ٣ true ."


@pytest.mark.parametrize("odd", ODD.split())
def test_one_other_value_makes_a_column_of_strings(odd: str) -> None:
    assert typed("1", odd, "2") == ["1", odd, "2"]
    assert typed(odd, "3") == [odd, "3"]


def test_an_empty_column_has_no_type() -> None:
    assert column_types([SourceRow(2, {"x": "", "y": " "})]) == {}


def no_advance(_more: int) -> None:
    pass


def rows_of(file: Path, fields: DocumentFields | None = None) -> DocumentRows:
    return DocumentRows(open_source(file), fields or DocumentFields(file.name))


def batch(through_line: int, upserted: int, *refused: LineProblem) -> StoredBatch:
    return StoredBatch(through_line, upserted, 0, refused, ())


def test_refused_lines_are_reported_by_their_place_in_the_file(tmp_path: Path) -> None:
    lines = ["", '{"text": "a"}', "", '{"txt": "b"}', "no json", '{"text": ""}', '{"text": "c", "x": 1}']
    rows = rows_of(write(tmp_path / "a.jsonl", *lines))
    sent = list(rows)
    assert [each.startswith(b"{") for each in sent] == [True, False, True, True], (
        "the second is for the service to refuse"
    )
    assert json.loads(sent[0])["id"] == "a.jsonl:2"
    rows.acknowledge(batch(2, 1, LineProblem(2, "malformed_json", "", "the line is not JSON")))
    rows.acknowledge(
        batch(4, 0, LineProblem(4, "bad", "metadata/x", "odd"), LineProblem(3, "empty_text", "text", "none"))
    )
    outcome = rows.outcome
    assert (outcome.upserted, outcome.refused.count) == (1, 4)
    assert [number for number, _ in outcome.refused.first] == [4, 5, 6, 7]
    assert [message.partition(";")[0] for _, message in outcome.refused.first] == [
        "missing_field: no field is named text",
        "malformed_json: the line is not JSON",
        "empty_text: text: none",
        "bad: x: odd",
    ]
    assert rows.position == (tmp_path / "a.jsonl").stat().st_size


def test_only_the_first_refused_rows_are_kept(tmp_path: Path) -> None:
    rows = rows_of(write(tmp_path / "a.jsonl", *['{"txt": 1}'] * 100))
    assert not list(rows)
    assert rows.outcome.refused.count == 100
    assert [number for number, _ in rows.outcome.refused.first] == list(range(1, SHOWN + 1))


def test_columns_of_csv_get_types_before_anything_is_sent(tmp_path: Path) -> None:
    rows = rows_of(write(tmp_path / "a.csv", "text,year,zip", "1,2024,01067", "2,,5"))
    rows.prepare(no_advance)
    assert [json.loads(line)["metadata"] for line in rows] == [{"year": 2024, "zip": "01067"}, {"zip": "5"}]
    assert [json.loads(line)["text"] for line in rows] == ["1", "2"], "text stays text"
    malformed = rows_of(write(tmp_path / "b.csv", "text,year", "a,2024", "b"))
    with pytest.raises(BadDataSet, match=r"b\.csv, line 3: 1 fields"):
        malformed.prepare(no_advance)


REPEATED = {
    "csv": ["id,text", "x,a", "y,b", '"x","c"', "x,d", ",e", ",f"],
    "jsonl": [
        "",
        '{"id": 7, "text": "a"}',
        '{"id": "y", "text": "b"}',
        '{"_id": "7", "text": "c"}',
        '{"id": "7", "text": "d"}',
        '{"id": null, "text": "e"}',
        '{"text": "f"}',
    ],
}


@pytest.mark.parametrize("suffix", REPEATED)
def test_an_id_that_came_before_is_said_with_both_lines(tmp_path: Path, suffix: str) -> None:
    rows = rows_of(write(tmp_path / f"a.{suffix}", *REPEATED[suffix]))
    rows.prepare(no_advance)
    assert len(list(rows)) == 6, "all are sent, so that the last one is kept"
    doc_id = "x" if suffix == "csv" else "7"
    assert rows.outcome.repeated.count == 2
    assert rows.outcome.repeated.first == [
        (4, f"repeated_id: {doc_id!r} is also that of line 2; the last of such rows is kept"),
        (5, f"repeated_id: {doc_id!r} is also that of line 4; the last of such rows is kept"),
    ]


def test_ids_of_a_named_field_are_compared_exactly(tmp_path: Path) -> None:
    lines = ["nr,id,text", "1,same,a", "2,same,b", "01,same,c", "1 ,same,d"]
    named = rows_of(write(tmp_path / "a.csv", *lines), DocumentFields("a.csv", "nr"))
    named.prepare(no_advance)
    assert len(list(named)) == 4
    assert named.outcome.repeated.count == 0


def test_rejected_rows_and_odd_ids_repeat_no_id(tmp_path: Path) -> None:
    lines = ['{"id": "x", "txt": 1}', '{"id": "x", "text": "a"}', "no json", '{"id": [1], "text": "b"}', '{"id": true}']
    rows = rows_of(
        write(tmp_path / "a.jsonl", *lines, '{"id": "\\ud800", "text": "c"}', '{"id": "\\ud800", "text": "d"}')
    )
    assert len(list(rows)) == 5
    assert [number for number, _ in rows.outcome.repeated.first] == [7]


def test_a_table_without_a_text_names_columns_by_number(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "a.csv", "id,,body,", "1,a,b,"))
    assert source.columns is not None
    with pytest.raises(
        BadDataSet, match=r"no column is named text; the columns are id, body.*; columns without a name: 2, 4"
    ):
        DocumentFields("a.csv").require(source.columns)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, suffix: str) -> None:
    def peak(count: int) -> int:
        numbers = range(count)
        if suffix == "csv":
            lines = ["id,text,n", *(f"{i},some words of a text,{i}" for i in numbers)]
        else:
            lines = [json.dumps({"id": str(i), "text": "some words of a text", "n": i}) for i in numbers]
        file = write(tmp_path / f"{count}.{suffix}", *lines)
        rows = rows_of(file)
        tracemalloc.start()
        rows.prepare(no_advance)
        done = 0
        sent = iter(rows)
        while chunk := len(list(islice(sent, 256))):
            done += chunk
            rows.acknowledge(batch(done, chunk))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows.outcome.upserted == count
        return peak

    assert peak(5_000) < 1.2 * peak(500)
