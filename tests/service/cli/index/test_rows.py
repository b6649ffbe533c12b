"""Numbers of rows and lines while a file is sent."""

from __future__ import annotations

import json
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
from semblance_client import LineProblem, StoredBatch

from semblance.models.errors import BadDataSet
from semblance.service.cli.index.documents import DocumentFields
from semblance.service.cli.index.readers.formats import open_source
from semblance.service.cli.index.rows import SHOWN, DocumentRows
from tests.support.text_files import write


def no_advance(_more: int) -> None:
    pass


def rows_of(file: Path, fields: DocumentFields | None = None) -> DocumentRows:
    return DocumentRows(open_source(file, None), fields or DocumentFields(file.name))


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
    rows.infer_types(no_advance)
    assert [json.loads(line)["metadata"] for line in rows] == [{"year": 2024, "zip": "01067"}, {"zip": "5"}]
    assert [json.loads(line)["text"] for line in rows] == ["1", "2"], "text stays text"
    malformed = rows_of(write(tmp_path / "b.csv", "text,year", "a,2024", "b"))
    with pytest.raises(BadDataSet, match=r"b\.csv, line 3: 1 fields"):
        malformed.infer_types(no_advance)


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
        rows.infer_types(no_advance)
        done = 0
        sent = iter(rows)
        while chunk := len(list(islice(sent, 256))):
            done += chunk
            rows.acknowledge(batch(done, chunk))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows.outcome.upserted == count
        return peak

    assert peak(20_000) < 1.2 * peak(2_000)
