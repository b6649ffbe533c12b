"""Rows as documents: id, text and metadata."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from semblance.models.errors import BadDataSet
from semblance.service.cli.index.documents import DocumentFields, RowProblem
from semblance.service.cli.index.readers.source import SourceRow


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


def test_empty_strings_of_untyped_columns_are_left_out() -> None:
    fields = DocumentFields("f.csv", casts={"year": int, "note": str})
    assert document(fields, id="1", text="t", year="2024", note="", empty=" ")["metadata"] == {"year": 2024}


@pytest.mark.parametrize(
    ("fields", "values", "code", "message"),
    [
        (DocumentFields("f"), {"id": "1", "txt": "t"}, "missing_field", r"are id, txt \(did you mean txt\?\); name"),
        (DocumentFields("f", "nr"), {"text": "t"}, "missing_field", "no field is named nr; .* with --id-field"),
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
            r"f\.csv: no column is named text; .* id, Text \(did you mean Text\?\); .* --text-field",
        ),
        (DocumentFields("f.csv", "ids", ("Text",)), r"no column is named ids; .* \(did you mean id\?\); .* --id-field"),
    ):
        with pytest.raises(BadDataSet, match=message):
            fields.require(["id", "Text"])
