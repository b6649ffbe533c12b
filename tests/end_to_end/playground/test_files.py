"""Files become the same documents in the playground as by `semblance index`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from semblance_client import Client

from tests.end_to_end.playground.conftest import OpenPage
from tests.support.running_service import SEMBLANCE

FILES = {
    "comma.csv": b"\xef\xbb\xbf,id,title,text,year,price,on,zip,note,metadata,\r\n"
    b'0,a1,Lamps,"A ""bright"", big\r\nlamp",2024,7.10,TRUE,01067,,m,x\r\n\r\n'
    b'1,,,No id here,2025,3,false,10115,"  ",n,y\r\n2,b2,,Third, 7 ,1e3,True,9,z,,\r\n',
    "ends.CSV": b'id;text;;\r\n"1";"Two\r\nlines, and\na ""third""\r";;\r\n2;"\r\nFour"\r\n3;Five;;;;\r\n2;"Six";x\r\n',
    "semicolon.csv": b"_id;text;n\n7;One, two;1\n8;Three;2.5\n",
    "tabs.tsv": b'id\ttext\tbig\n1\ta "quoted" word\t1234567890123456\n2\tanother\t5\n',
    "lines.jsonl": b'{"id": 12, "text": "One", "metadata": {"a": 1, "__proto__": "x"}, "b": [1, "c"], "c": null}\n\n'
    b'{"id": null, "_id": "q", "title": null, "text": "Two", "metadata": "kept"}\r\n{"text": "Three", "n": -1.5}\n',
    "objects.json": b'{"id": "1", "_id": "2", "title": "A title", "text": "and a text"}\n',
}


def choose(page: Page, name: str, content: bytes) -> None:
    page.get_by_label("File").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})


def stored(client: Client, collection: str) -> dict[str, tuple[str, Any]]:
    return {each.id: (each.text, dict(each.metadata)) for each in client.documents(collection).documents}


@pytest.mark.parametrize("name", FILES)
def test_the_command_line_makes_the_same_documents(open_page: OpenPage, url: str, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    kind = name.partition(".")[0]
    command = [sys.executable, "-m", SEMBLANCE, "index", str(tmp_path / name), "--collection", f"cli-{kind}"]
    subprocess.run([*command, "--url", url], check=True, capture_output=True)
    page = open_page("#collection")
    page.get_by_label("Into the collection").fill(f"page-{kind}")
    choose(page, name, FILES[name])
    expect(page.get_by_text(f"stored in page-{kind}.").first).to_be_visible()
    with Client(url) as client:
        documents = stored(client, f"cli-{kind}")
        assert documents
        assert stored(client, f"page-{kind}") == documents


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.xlsx", b"PK", "files that end in .csv"),
        ("mine.csv", "text\nGrüße\n".encode("latin-1"), "not UTF-8"),
        ("mine.csv", b'text\n"open\n', "line 2: a quote is not closed"),
        ("mine.csv", b"text,n\none,1,2\n", "line 2: 3 fields, but the first line names 2 columns"),
        ("mine.csv", b"body\none\n", "no column is named text; the columns are body"),
        ("mine.csv", b"text,a,a\none,1,2\n", "two columns are named a"),
        ("mine.csv", b"id,,body\n1,a,b\n", "the columns are id, body; columns without a name: 2"),
        ("mine.csv", b'text,n\n"a\rb",1\nc\rd,2\n', "line 3: a carriage return stands outside of quotes"),
        ("mine.txt", b"one\rtwo\r", "carriage return"),
        ("mine.json", b'[{"text": "one"}]', "one JSON list"),
        ("mine.jsonl", b"\n", "no documents"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(open_page: OpenPage, name: str, content: bytes, message: str) -> None:
    page = open_page("#collection")
    add = page.get_by_role("region", name="Add documents")
    choose(page, name, content)
    expect(add.locator(".refused")).to_contain_text(f"{name}: ")
    expect(add.locator(".refused")).to_contain_text(message)
    expect(page.get_by_label("File")).to_have_value("")  # so that the same file can be chosen again


def test_rows_are_refused_by_line_and_counted_once(open_page: OpenPage) -> None:
    page = open_page("#collection")
    page.get_by_label("Into the collection").fill("odd")
    lines = (
        'null\n{"id": "x", "text": ""}\nno json\n{"text": 1}\n{"id": 12345678901234567890, "text": "one"}\n'
        '{"id": "y", "text": "one", "n": {"a": 1}}\n{"id": "y", "text": "two"}\n{"id": "z", "text": "Кошка спит"}\n'
    )
    choose(page, "odd.jsonl", lines.encode())
    add = page.get_by_role("region", name="Add documents")
    expect(add).to_contain_text("odd.jsonl: 2 documents stored in odd. Of rows with the same id, the last is kept: 1")
    refused, warned, repeated = add.locator(".notice").all_inner_texts()
    assert refused.splitlines() == [
        "5 rows refused:",
        "line 1: it is not a JSON object",
        "line 2: text: it has no visible character",
        "line 3: it is not JSON",
        "line 4: text must be a text",
        "line 5: id has more digits than a browser keeps: put it in quotes",
    ]
    assert warned.startswith("1 row stored with a warning:\nline 8: text: 100% of it is in a script")
    assert repeated == "1 row with the id of an earlier row:\nline 7: the id y is also that of line 6"
    documents = page.get_by_role("region", name="Listed documents").get_by_role("listitem")
    expect(documents).to_have_count(2)


def test_repeated_ids_and_columns_without_a_name_are_said(open_page: OpenPage) -> None:
    page = open_page("#collection")
    page.get_by_label("Into the collection").fill("twice")
    choose(page, "twice.csv", b'id,,text,\nx,1,"one\ntwo",\ny,,three,\nx,2,four,\nx,,five,\n')
    add = page.get_by_role("region", name="Add documents")
    expect(add).to_contain_text("the last is kept: 2 left out. Columns without a name are left out: 2.")
    [repeated] = add.locator(".notice").all_inner_texts()
    assert repeated.splitlines() == [
        "2 rows with the id of an earlier row:",
        "line 5: the id x is also that of line 2",
        "line 6: the id x is also that of line 5",
    ]


@pytest.mark.parametrize("name", ["Mine", "-a", "a b", "x" * 65])
def test_names_of_collections_follow_the_rule(open_page: OpenPage, name: str) -> None:
    page = open_page("#collection")
    page.get_by_label("Into the collection").fill(name)
    choose(page, "mine.txt", b"one\n")
    expect(page.locator(".drop .refused")).to_contain_text("starts with a letter or digit: change")
