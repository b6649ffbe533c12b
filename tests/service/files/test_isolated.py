"""Files of strangers are read within bounds, and none stops the others."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semblance.models.errors import BadDataSet
from semblance.service.files import isolated, reader
from semblance.service.files.folder import PageFolder
from semblance.service.files.formats.office import MAX_PAGES
from semblance.service.files.formats.page_files import PART_CHARS
from semblance.service.files.isolated import TOO_HARD, IsolatedFiles, NamedFile
from semblance.service.files.sources import Reading
from tests.support.pages import replace_part, write_docx, write_pdf
from tests.support.text_files import write

HTML = """<html><head><title>Tea &amp; cake</title><style>p {color: red}</style></head><body><script>alert(1)</script>
<h1>Tea</h1><p>One <b>cup</b>, please.<br>Two.</p><ul><li>milk</li><li>sugar</li></ul></body></html>"""
XXE = b"""<?xml version="1.0"?><!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">%s]>
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>
<w:t>secret: &x;</w:t></w:r></w:p></w:body></w:document>"""
LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (i, b"&l%d;" % (i - 1) * 10 if i else b"ha") for i in range(12))


def documents(path: Path, name: str | None = None) -> list[Any]:
    """The documents of a file, or its problems."""
    lines = IsolatedFiles([NamedFile(path, name or path.name)], Reading()).lines()
    return [
        line.get("document") or line["problem"]["detail"] for line in lines if "file" not in line and "read" not in line
    ]


def page(name: str, text: str, title: str, **more: object) -> dict[str, object]:
    return {"id": name, "text": text, "metadata": {"title": title, "file": name.partition("#")[0], **more}}


@pytest.mark.parametrize(
    ("name", "content", "text", "title"),
    [
        (
            "a.md",
            "---\ntitle: 'Tea'\ntags: [x]\n---\n# Cake\n\nOne **cup** [here](http://x).\n",
            "Cake\nOne cup here.",
            "Tea",
        ),
        (
            "a.markdown",
            "Text only.\n\n## Second\n\n| a | b |\n|---|---|\n| 1 | 2 |",
            "Text only.\nSecond\na b\n1 2",
            "Second",
        ),
        ("a.html", HTML, "Tea\nOne cup, please.\nTwo.\nmilk\nsugar", "Tea & cake"),
        ("a.rst", "Tea\n===\n\nOne *cup*.", "Tea\n===\n\nOne *cup*.", "Tea"),
        ("a.rst", "No title.", "No title.", "a"),
    ],
)
def test_a_page_has_a_text_and_a_title(tmp_path: Path, name: str, content: str, text: str, title: str) -> None:
    assert documents(write(tmp_path / name, content)) == [page(name, text, title)]


def test_pages_in_other_encodings_are_read(tmp_path: Path) -> None:
    declared = '<meta charset="windows-1252"><p>Größe – 5 €</p>'.encode("cp1252")
    (tmp_path / "a.html").write_bytes(declared)
    (tmp_path / "b.md").write_bytes("Die Größe paßt nicht – 5 €".encode("cp1252"))
    assert documents(tmp_path / "a.html")[0]["text"] == "Größe – 5 €"
    assert documents(tmp_path / "b.md")[0]["text"] == "Die Größe paßt nicht – 5 €"


def test_pages_of_a_pdf_and_a_docx_are_read(tmp_path: Path) -> None:
    pdf = write_pdf(tmp_path / "a.pdf", ["First page.", "", "Third page."], "A report")
    assert documents(pdf, "sub/a.pdf") == [
        page("sub/a.pdf#page=1", "First page.", "A report", page=1),
        page("sub/a.pdf#page=3", "Third page.", "A report", page=3),
    ]
    docx = write_docx(tmp_path / "a.docx", "A letter", "Dear reader,", "bye.")
    assert documents(docx) == [page("a.docx", "A letter\nDear reader,\nbye.\nleft right", "A letter")]


def test_a_long_page_becomes_documents_cut_at_spaces(tmp_path: Path) -> None:
    words = "word " * (PART_CHARS // 2)
    parts = documents(write(tmp_path / "a.md", words))
    assert [each["id"] for each in parts] == ["a.md", "a.md#part=2", "a.md#part=3"]
    assert " ".join(each["text"] for each in parts) == words.strip()


def bomb(folder: Path) -> Path:
    return replace_part(write_docx(folder / "a.docx", "A"), {"word/media/a.bin": bytes(300_000_000)})


def gzip_bomb(folder: Path) -> Path:
    file = folder / "a.csv.gz"
    with gzip.open(file, "wb", 1) as stream:
        for _ in range(100):
            stream.write(bytes(1 << 20))
    return file


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: write(folder / "a.pdf", "%PDF-1.4 no"), "a.pdf cannot be read as PDF: "),
        (lambda folder: write_pdf(folder / "a.pdf", [""]), "a.pdf has no text: if its pages are pictures"),
        (lambda folder: write_pdf(folder / "a.pdf", ["x"] * (MAX_PAGES + 1)), "pages, more than 2,000: split it"),
        (lambda folder: write(folder / "a.docx", "no"), "a.docx cannot be read as DOCX"),
        (bomb, "a.docx unpacks to more than 200,000,000 bytes"),
        (gzip_bomb, "a.csv.gz is not a text in an encoding"),
        (lambda folder: write(folder / "a.xlsx", "PK"), "a workbook is not read"),
        (lambda folder: write(folder / "a.exe", "MZ"), "no format has the suffix '.exe'"),
        (lambda folder: write(folder / "a.json", "[" * 100_000), "a.json is not JSON"),
    ],
)
def test_a_bad_file_is_named_with_the_reason(tmp_path: Path, make: Callable[[Path], Path], message: str) -> None:
    (said,) = documents(make(tmp_path))
    assert message in said
    assert str(tmp_path) not in said


@pytest.mark.parametrize("entities", [b"", LAUGHS])
def test_entities_of_a_document_are_not_resolved(tmp_path: Path, entities: bytes) -> None:
    body = XXE % entities
    body = body.replace(b"&x;", b"&l11;") if entities else body
    (said,) = documents(replace_part(write_docx(tmp_path / "a.docx", "A"), {"word/document.xml": body}))
    text = said["text"] if isinstance(said, dict) else said
    assert "root:" not in text
    assert "haha" not in text


ENDLESS = """
import bs4, markdown_it  # before the time of a file begins
from semblance.service.files import reader
reader.FILE_S = 0.5
real = reader.open_source
def endless(path, reading, name):
    while name == "b.md":
        pass
    return real(path, reading, name)
reader.open_source = endless
reader.main()
"""


def test_a_file_that_takes_too_long_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "PROGRAM", ("-c", ENDLESS))
    file = write(tmp_path / "a.md", "One.")
    lines = IsolatedFiles([NamedFile(file, name) for name in ("a.md", "b.md", "c.md")], Reading()).lines()
    found = [
        line["document"]["id"] if "page" in line else line["problem"]["detail"]
        for line in lines
        if "page" in line or "problem" in line
    ]
    assert found == ["a.md", TOO_HARD, "c.md"]


def test_the_reader_has_limits_and_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_API_KEYS", "secret")
    assert "secret" not in str(isolated.environment())
    assert reader.MAX_MEMORY < 1 << 32
    program = "from semblance.service.files import reader; reader._limit_memory(); bytearray(3 << 30)"
    monkeypatch.setattr(isolated, "PROGRAM", ("-c", program))
    (problem,) = list(IsolatedFiles([NamedFile(tmp_path / "a.md", "a.md")], Reading()).lines())
    assert problem["problem"]["detail"] == TOO_HARD


def test_a_folder_is_read_without_links_that_leave_it(tmp_path: Path) -> None:
    outside = write(tmp_path / "secret.md", "Secret.")
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "sub" / ".empty").mkdir()
    write(folder / "b.txt", "Title", "", "Some", "lines.")
    write(folder / "sub" / "a.json", '[{"title": "T", "note": "This is a longer text."}, {"note": ""}]')
    write(folder / ".git" / "c.md", "Hidden.")
    write(folder / "d.png", "x")
    (folder / "in.md").symlink_to(folder / "sub" / "a.json")
    (folder / "out.md").symlink_to(outside)
    (folder / "up").symlink_to(tmp_path)
    source = PageFolder(folder, Reading())
    rows = list(source.rows())
    assert [source.name_of(row.number) for row in rows] == ["b.txt", "in.md", "sub/a.json", "sub/a.json"]
    assert rows[0].fields == page("b.txt", "Title\n\nSome\nlines.", "Title")
    assert rows[2].fields == {"id": "sub/a.json:1", "text": "This is a longer text.", "metadata": {"title": "T"}}
    assert rows[3].fields == {"id": "sub/a.json:2", "text": "", "metadata": {}}
    assert source.left_out == {".png": 1, "links out of the folder": 1}
    with pytest.raises(BadDataSet, match="has no files that end in"):
        PageFolder(folder / "sub" / ".empty", Reading())


def test_a_stopped_reading_ends(tmp_path: Path) -> None:
    files = IsolatedFiles([NamedFile(write(tmp_path / "a.md", "One."), "a.md")] * 3, Reading())
    lines = files.lines()
    next(lines)
    files.stop()
    assert not [line for line in lines if "problem" in line]
