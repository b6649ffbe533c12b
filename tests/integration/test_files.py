"""POST /files: files read as documents, as the command line reads them."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any, get_args

import httpx2
import pytest
from semblance_client.vocabulary.files import FileFormat, FilesRead

from semblance.service.files.sources import Format
from tests.integration.conftest import Api
from tests.support.pages import write_docx, write_pdf

TICKETS = (
    "subject;body;order_no\r\n"
    "Größe falsch;Die Größe der Jacke paßt nicht, bitte für 5 € umtauschen.;0071\r\n"
    'Rückgabe;"Ich möchte die Schuhe\nzurückgeben – wie geht das?";0072\r\n'
).encode("cp1252")


def read(http: httpx2.Client, *files: tuple[str, bytes], **options: object) -> list[dict[str, Any]]:
    sent = [{"name": name, "content": b64encode(content).decode()} for name, content in files]
    answer = http.post("/files", json={"files": sent, **options}).raise_for_status()
    FilesRead.model_validate(answer.json())
    found: list[dict[str, Any]] = answer.json()["files"]
    assert [each["name"] for each in found] == [name for name, _ in files]
    return found


def test_the_export_of_a_spreadsheet_becomes_documents_that_are_found(api: Api, http: httpx2.Client) -> None:
    (found,) = read(http, ("tickets.csv", TICKETS))
    assert (found["format"], found["encoding"], found["separator"]) == ("csv", "cp1252", ";")
    assert (found["columns"], found["text_fields"], found["id_field"]) == (
        ["subject", "body", "order_no"],
        ["subject", "body"],
        "order_no",
    )
    assert [each.pop("place") for each in found["documents"]] == ["line 2", "line 3"]
    assert found["documents"][1]["text"] == "Rückgabe Ich möchte die Schuhe\nzurückgeben – wie geht das?"
    http.put("/collections/sent").raise_for_status()
    http.post("/collections/sent/documents", json={"documents": found["documents"]}).raise_for_status()
    assert api.hits("Schuhe zurückgeben", collection="sent")[0]["id"] == "0072"


def test_what_was_told_by_the_content_can_be_named(http: httpx2.Client) -> None:
    content = "a|b|text\n1|café|x y".encode("cp1252")
    (found,) = read(http, ("a.csv", content), encoding="cp1250", separator="|", text_fields=["b"], id_field="a")
    assert found["documents"] == [{"place": "line 2", "id": "1", "text": "café", "metadata": {"text": "x y"}}]
    (found,) = read(http, ("a.dat", b"one\n\ntwo"), format="lines")
    assert [each["id"] for each in found["documents"]] == ["a.dat:1", "a.dat:3"]
    (found,) = read(http, ("a.csv", content), text_fields=["absent"])
    assert found["problems"][0]["detail"].startswith("a.csv: no column is named absent")
    (found,) = read(http, ("a.csv", content), encoding="nonsense")
    assert "'nonsense' is not an encoding" in found["problems"][0]["detail"]


def test_files_of_a_folder_are_read_each_for_itself(http: httpx2.Client, tmp_path: Path) -> None:
    pdf = write_pdf(tmp_path / "a.pdf", ["First page.", "Second page."], "A report").read_bytes()
    docx = write_docx(tmp_path / "a.docx", "A letter", "Dear reader,").read_bytes()
    found = read(
        http,
        ("notes/a.txt", b"Title\n\nSome lines\nof text."),
        ("../../etc/b.pdf", pdf),
        ("c.docx", docx),
        ("d.pdf", b"%PDF-1.4 damaged"),
        ("e.md", b"# Hi\n\nthere"),
    )
    assert [len(each["documents"]) for each in found] == [1, 2, 1, 0, 1]
    assert found[0]["documents"][0]["text"] == "Title\n\nSome lines\nof text."
    assert found[1]["documents"][1]["metadata"] == {"title": "A report", "file": "../../etc/b.pdf", "page": 2}
    assert found[3]["problems"] == [{"place": "", "code": "bad_data_set", "detail": found[3]["problems"][0]["detail"]}]


def test_rows_without_a_document_say_why(http: httpx2.Client) -> None:
    lines = [
        json.dumps({"text": "One."}),
        "[1]",
        json.dumps({"text": 7}),
        json.dumps({"id": 3, "text": ""}),
        '{"text": "", "n": NaN}',
    ]
    lines.append('{"text": "\\ud800"}')
    (found,) = read(http, ("a.jsonl", "\n".join(lines).encode()))
    assert [(each["place"], each["code"]) for each in found["problems"]] == [
        ("line 2", "malformed_json"),
        ("line 3", "invalid_value"),
        ("line 5", "malformed_json"),
        ("line 6", "malformed_json"),
    ]
    assert [each["id"] for each in found["documents"]] == ["a.jsonl:1", "3"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"files": []}, "out_of_range"),
        ({"files": [{"name": "a.csv", "content": "not base64!"}]}, "invalid_value"),
        ({"files": [{"name": "a.csv", "content": ""}], "format": "xlsx"}, "invalid_value"),
        ({"files": [{"name": "a.csv", "content": ""}], "separator": "ab"}, "out_of_range"),
        ({"files": [{"name": "", "content": ""}]}, "out_of_range"),
    ],
)
def test_bad_requests_are_refused(http: httpx2.Client, body: object, code: str) -> None:
    answer = http.post("/files", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)


def test_the_api_names_the_formats_that_are_read() -> None:
    assert get_args(FileFormat) == get_args(Format)


def test_files_may_be_larger_than_other_bodies(http: httpx2.Client) -> None:
    rows = ["text", *["some words of a text " * 5000] * 90]
    assert len(read(http, ("a.csv", "\n".join(rows).encode()))[0]["documents"]) == 90
    answer = http.post("/files", content=bytes(65 << 20))
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
