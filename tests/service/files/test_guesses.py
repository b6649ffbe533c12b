"""Fields of text and id are guessed only where no field is named text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance.service.files.fields import DocumentFields
from semblance.service.files.guesses import guessed_fields
from semblance.service.files.opening import open_source
from tests.support.text_files import write

BODY = "The jacket is too small and I want another one."
OTHER = "Where is my parcel, which I ordered in May?"


def guessed(folder: Path, *rows: Mapping[str, object], fields: DocumentFields | None = None) -> DocumentFields:
    file = write(folder / "a.jsonl", *map(json.dumps, rows))
    return guessed_fields(open_source(file), fields or DocumentFields(file.name))


@pytest.mark.parametrize(
    ("first", "second", "texts", "id_field"),
    [
        (
            {"subject": "Too small", "body": BODY, "order_no": "0071"},
            {"subject": "My parcel", "body": OTHER, "order_no": "0072"},
            ("subject", "body"),
            "order_no",
        ),
        ({"body": BODY, "sku": "a"}, {"body": OTHER, "sku": "a"}, ("body",), None),
        ({"frage": BODY, "antwort": 2 * BODY}, {"frage": OTHER, "antwort": OTHER}, ("frage", "antwort"), None),
        ({"orderId": 7, "note": BODY}, {"orderId": 8, "note": OTHER}, ("note",), "orderId"),
        ({"title": "One", "note": BODY}, {"title": "Two", "note": OTHER}, ("note",), None),
        ({"paid": "yes", "video": "a b c d", "note": BODY}, {"note": OTHER}, ("note",), None),
    ],
)
def test_long_texts_headings_and_unique_ids_are_found(
    tmp_path: Path,
    first: Mapping[str, object],
    second: Mapping[str, object],
    texts: Sequence[str],
    id_field: str | None,
) -> None:
    found = guessed(tmp_path, first, second)
    assert (found.texts, found.id) == (texts, id_field)


def test_a_field_text_or_one_that_was_named_is_taken(tmp_path: Path) -> None:
    own = DocumentFields("a.jsonl")
    assert guessed(tmp_path, {"body": BODY}, {"text": "", "body": BODY}, fields=own) is own
    named = DocumentFields("a.jsonl", texts=("note",))
    assert guessed(tmp_path, {"body": BODY, "note": "x"}, fields=named) is named
    with_id = DocumentFields("a.jsonl", id="paid")
    assert guessed(tmp_path, {"body": BODY, "order_no": "1"}, fields=with_id).id == "paid"


def test_an_id_that_repeats_late_is_not_taken(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"body": BODY, "no": str(i)} for i in range(300)]
    assert guessed(tmp_path, *rows).id == "no"
    repeated, empty = (guessed(tmp_path, *rows, {"body": BODY, "no": no}) for no in ("0", ""))
    assert (repeated.id, repeated.no_id) == (None, "no repeats (0)")
    assert (empty.id, empty.no_id) == (None, "no is empty in line 301")


def test_a_file_without_texts_is_refused_with_its_fields(tmp_path: Path) -> None:
    with pytest.raises(BadDataSet, match=r"a\.jsonl: no field is named text, .* the fields are n, code: name one"):
        guessed(tmp_path, {"n": 1, "code": "x7"})
