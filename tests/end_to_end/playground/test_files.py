"""Files become the same documents in the playground as by `semblance index`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from semblance_client import Client

from tests.end_to_end.playground.conftest import OpenPage
from tests.support.command_line import semblance
from tests.support.pages import write_pdf
from tests.support.text_files import write

TICKETS = (
    "subject;body;order_no\r\nGröße falsch;Die Größe der Jacke paßt nicht, bitte für 5 € umtauschen.;0071\r\n"
    "Rückgabe;Ich möchte die Schuhe zurückgeben – wie geht das?;0072\r\n"
).encode("cp1252")
FILES = {
    "comma.csv": b"\xef\xbb\xbf,id,title,text,year,price,on,zip,note,metadata,\r\n"
    b'0,a1,Lamps,"A ""bright"", big\r\nlamp",2024,7.10,TRUE,01067,,m,x\r\n\r\n'
    b'1,,,No id here,2025,3,false,10115,"  ",n,y\r\n2,b2,,Third, 7 ,1e3,True,9,z,,\r\n',
    "ends.CSV": b'id;text;;\r\n"1";"Two\r\nlines, and\na ""third""\r";;\r\n2;"\r\nFour"\r\n3;Five;;;;\r\n2;"Six";x\r\n',
    "semicolon.csv": b"_id;text;n\n7;One, two;1\n8;Three;2.5\n",
    "tabs.tsv": b'id\ttext\tbig\n1\ta "quoted" word\t1234567890123456\n2\tanother\t5\n',
    "lines.jsonl": b'{"id": 12, "text": "One", "metadata": {"a": 1, "__proto__": "x"}, "b": [1, "c"], "c": null}\n\n'
    b'{"id": null, "_id": "q", "title": null, "text": "Two", "metadata": "kept"}\r\n{"text": "Three", "n": -1.5}\n',
    "objects.json": b'[{"id": "1", "_id": "2", "title": "A title", "text": "and a text"}]\n',
    "western.csv": TICKETS,
    "page.md": b"# A title\n\nand a **text**\n",
    "lines.txt": b"one\r\n\r\ntwo\n",
}


def choose(page: Page, name: str, content: bytes) -> None:
    page.get_by_label("Files").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})


def adding(page: Page) -> Locator:
    return page.get_by_role("region", name="Add documents")


def add(page: Page, collection: str) -> None:
    page.get_by_label("Into the collection").fill(collection)
    adding(page).get_by_role("button", name="Add").click()


def stored(client: Client, collection: str) -> dict[str, tuple[str, Any]]:
    return {each.id: (each.text, dict(each.metadata)) for each in client.documents(collection).documents}


@pytest.mark.parametrize("name", FILES)
def test_the_command_line_makes_the_same_documents(open_page: OpenPage, url: str, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    kind = name.partition(".")[0]
    semblance("index", str(tmp_path / name), "--collection", f"cli-{kind}", "--url", url)
    page = open_page("#collection")
    choose(page, name, FILES[name])
    add(page, f"page-{kind}")
    expect(page.get_by_text(f"stored in page-{kind}.").first).to_be_visible()
    with Client(url) as client:
        documents = stored(client, f"cli-{kind}")
        assert documents
        assert stored(client, f"page-{kind}") == documents


def test_a_table_is_read_as_one_chooses_and_then_found(open_page: OpenPage) -> None:
    page = open_page("#collection")
    choose(page, "Tickets 2026.csv", TICKETS)
    expect(adding(page).get_by_role("button", name="Add 2 documents")).to_be_visible()
    expect(page.get_by_label("Encoding")).to_have_value("cp1252")
    expect(page.get_by_label("Separated by")).to_have_value(";")
    expect(page.get_by_label("Id")).to_have_value("order_no")
    expect(page.get_by_label("Into the collection")).to_have_value("tickets-2026")
    texts = page.get_by_role("group", name="Text")
    expect(texts.get_by_role("checkbox", checked=True)).to_have_count(2)
    first = adding(page).locator("tbody tr").first
    expect(first).to_contain_text("0071")
    expect(first).to_contain_text("Die Größe der Jacke")
    page.get_by_label("Encoding").select_option("cp1251")
    expect(first).to_contain_text("GrцЯe")
    page.get_by_label("Encoding").select_option("cp1252")
    page.get_by_label("Separated by").select_option(",")  # which no line has: choose again
    expect(adding(page).locator(".refused").first).to_be_visible()
    page.get_by_label("Separated by").select_option(";")
    texts.get_by_label("subject").click()
    expect(first.get_by_role("cell").first).to_have_text("Die Größe der Jacke paßt nicht, bitte für 5 € umtauschen.")
    expect(first).to_contain_text("subject: Größe falsch")
    page.get_by_label("Id").select_option("")
    expect(first).to_contain_text("Tickets 2026.csv:2")
    add(page, "tickets-2026")
    adding(page).get_by_role("link", name="Search it").click()
    expect(page.get_by_text("Type what you look for.")).to_be_visible()  # the tab is open
    page.get_by_label("Query").fill("Jacke umtauschen")
    expect(page.locator(".hit").first).to_contain_text("Größe falsch")


def test_a_folder_of_pages_becomes_a_collection(open_page: OpenPage, url: str, tmp_path: Path) -> None:
    notes = tmp_path / "My notes"
    (notes / ".git").mkdir(parents=True)
    write(notes / ".git" / "config.md", "hidden")
    for i in range(3):
        write(notes / f"note-{i}.md", f"# Note {i}", "", f"The **{i}th** bird sings.")
    write(notes / "plain.txt", "A plain text", "", "of several lines.")
    write_pdf(notes / "report.pdf", ["First page.", "Second page."], "A report")
    write(notes / "damaged.pdf", "%PDF-1.4 no")
    write(notes / "photo.png", "PNG")
    page = open_page("#collection")
    page.get_by_label("Folder").set_input_files(notes)
    expect(adding(page)).to_contain_text("6 files: 6 documents, 1 left out.")
    left_out = adding(page).locator(".notice").all_inner_texts()
    assert left_out[0] == "1 file left out: pictures are not read (photo.png)"
    assert left_out[1].startswith("1 file left out: cannot be read as PDF")
    assert left_out[1].endswith("(damaged.pdf)")
    expect(page.get_by_label("Into the collection")).to_have_value("my-notes")
    adding(page).get_by_role("button", name="Add").click()
    expect(adding(page)).to_contain_text("6 documents stored in my-notes.")
    with Client(url) as client:
        found = stored(client, "my-notes")
    assert found["note-1.md"] == ("Note 1\nThe 1th bird sings.", {"title": "Note 1", "file": "note-1.md"})
    assert found["report.pdf#page=2"][1]["page"] == 2
    for name in ("damaged.pdf", "photo.png"):
        (notes / name).unlink()
    semblance("index", str(notes), "--collection", "my-notes", "--url", url)
    with Client(url) as client:
        assert stored(client, "my-notes") == found


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.xlsx", b"PK", "a workbook is not read: save its sheet as CSV"),
        ("mine.csv", b"text,n\none,1,2\n", "line 2: 3 fields, but the first line names 2 columns"),
        ("mine.csv", b"body\none\n", "none looks like one; the fields are body: choose one under “Text”"),
        ("mine.csv", b"", "mine.csv has no columns: its first row must name them."),
        ("mine.gif", b"GIF", "1 file left out: files of this kind are not read (mine.gif)"),
        ("mine.jsonl", b"\n", "There is nothing to add."),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(open_page: OpenPage, name: str, content: bytes, message: str) -> None:
    page = open_page("#collection")
    choose(page, name, content)
    expect(adding(page)).to_contain_text(message)
    expect(adding(page).get_by_role("button", name="Add")).to_have_count(0)
    expect(page.get_by_label("Files")).to_have_value("")  # so that the same file can be chosen again


def test_rows_are_refused_by_line_and_counted_once(open_page: OpenPage) -> None:
    page = open_page("#collection")
    lines = (
        'null\n{"id": "x", "text": ""}\nno json\n{"text": 1}\n{"id": "w", "text": "one", "n": 12345678901234567890}\n'
        '{"id": "y", "text": "one", "n": {"a": 1}}\n{"id": "y", "text": "two"}\n{"id": "z", "text": "Кошка спит"}\n'
    )
    choose(page, "odd.jsonl", lines.encode())
    add(page, "odd")
    expect(adding(page)).to_contain_text("odd.jsonl: 2 documents stored in odd.")
    said = adding(page).locator(".notice").all_inner_texts()
    assert said[:4] == [
        "2 rows left out: it is not an object of JSON, or has NaN in it (lines 1, 3)",
        "1 row left out: text: it must be a string (line 4)",
        "1 row without text left out (line 2)",
        "1 row left out: a number has more digits than a browser keeps: put it in quotes (line 5)",
    ]
    assert said[4].startswith("1 row stored with a warning: text: most of its words or signs are unknown")
    assert said[5:] == ["1 row with the id of an earlier row, which it replaces (line 7)"]


def test_rows_without_text_are_counted_as_in_spreadsheets(open_page: OpenPage) -> None:
    rows = [(f"n{i}", "" if i % 3 == 2 else "two\nlines") for i in range(24)]
    table = "id,text\n\n" + "".join(f'{identifier},"{text}"\n' for identifier, text in rows)
    page = open_page("#collection")
    for replaced in ("", " All of them replaced one with the same id."):
        choose(page, "letters.csv", table.encode())
        expect(adding(page)).to_contain_text("letters.csv: 16 documents, 8 left out.")
        exists = "It exists, with 16 documents: those with the same ids are replaced." if replaced else ""
        expect(adding(page).get_by_role("status")).to_have_text(exists)
        expect(adding(page).get_by_role("button", name="Add 16 documents")).to_be_in_viewport()
        add(page, "letters")
        expect(adding(page)).to_contain_text(f"letters.csv: 16 documents stored in letters.{replaced}")
        expect(adding(page).locator(".notice")).to_have_text(
            "8 rows without text left out (rows 5, 8, 11, 14, 17 and 3 more)"
        )
        expect(adding(page).get_by_role("progressbar")).to_have_count(0)


def test_a_collection_without_documents_does_not_stay(open_page: OpenPage, url: str) -> None:
    page = open_page("#collection")
    choose(page, "blank.jsonl", json.dumps({"id": "x" * 5000, "text": "one"}).encode())
    add(page, "blank")
    expect(adding(page)).to_contain_text("blank.jsonl: 0 documents stored in blank.")
    with Client(url) as client:
        assert "blank" not in [each.name for each in client.collections()]


@pytest.mark.parametrize("name", ["Mine", "-a", "a b", "x" * 65])
def test_names_of_collections_follow_the_rule(open_page: OpenPage, name: str) -> None:
    page = open_page("#collection")
    choose(page, "mine.txt", b"one\n")
    add(page, name)
    expect(page.locator(".drop .refused")).to_contain_text("starts with a letter or digit: change")
