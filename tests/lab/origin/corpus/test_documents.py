"""Reading documents by paragraph and sentence, in any language; errors name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance_lab.origin.corpus.documents import CorpusDocument, read_documents, split_sentences, text_files
from semblance_lab.origin.errors import BadCorpus
from tests.support.text_files import write, write_json


def read(*paths: Path) -> list[CorpusDocument]:
    return list(read_documents(text_files(paths), lambda _more: None))


def test_a_plain_file_is_one_document(tmp_path: Path) -> None:
    write(
        tmp_path / "sub" / "b.txt", "", "It rained.  All", " day long.\tWe stayed in.", " ", "", "Then it stopped.", ""
    )
    write(tmp_path / "notes.md", "This is no text to learn from.")
    [found] = read(tmp_path)
    assert found.name == "sub/b.txt"
    assert found.paragraphs == [("It rained.", "All day long.", "We stayed in."), ("Then it stopped.",)]


def test_json_lines_are_paragraphs_with_text_or_sentences(tmp_path: Path) -> None:
    file = write_json(
        tmp_path / "a.jsonl",
        {"doc": "one", "par": 0, "text": "It rained. We stayed\nin."},
        {"doc": "one", "par": 1, "sentences": ["He left. She  stayed.", " ", "why ?"], "section": "End"},
        {"doc": 2, "text": "No number is needed."},
        {"doc": 2, "text": "Nor is order then known."},
    )
    assert read(file) == [
        CorpusDocument("a.jsonl:one", [("It rained.", "We stayed in."), ("He left. She stayed.", "why ?")]),
        CorpusDocument("a.jsonl:2", [("No number is needed.",), ("Nor is order then known.",)]),
    ]


def test_a_repeated_name_starts_a_document_if_paragraph_numbers_restart(tmp_path: Path) -> None:
    rows = [("x", 0), ("x", 1), ("y", 0), ("x", 0), ("x", 5)]
    file = write_json(tmp_path / "a.jsonl", *({"doc": doc, "par": par, "text": f"{doc} {par}"} for doc, par in rows))
    assert [(each.name, len(each.paragraphs)) for each in read(file)] == [
        ("a.jsonl:x", 2),
        ("a.jsonl:y", 1),
        ("a.jsonl:x", 2),
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("今天天气很好。我们去公园散步。你呢？", ["今天天气很好。", "我们去公园散步。", "你呢？"]),
        ("मैं घर जा रहा हूँ। तुम कहाँ हो? वह यहाँ है।", ["मैं घर जा रहा हूँ।", "तुम कहाँ हो?", "वह यहाँ है।"]),
        ("ذهبت إلى السوق. ماذا اشتريت؟ اشتريت خبزا.", ["ذهبت إلى السوق.", "ماذا اشتريت؟", "اشتريت خبزا."]),
        ("Dr. Weiß kam um 8.30 Uhr. Er blieb.", ["Dr. Weiß kam um 8.30 Uhr.", "Er blieb."]),
        ("word " * 1_000, [("word " * 1_000).strip()]),
        (" \n ", []),
    ],
)
def test_sentences_end_where_their_script_ends_them(text: str, sentences: list[str]) -> None:
    assert list(split_sentences(text)) == sentences


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{broken", "this is not JSON"),
        ("[1]", "this is not a JSON object"),
        ('{"text": "Of no document."}', "not of the form"),
        ('{"doc": null, "text": "a"}', "not of the form"),
        ('{"doc": "a", "par": "one", "text": "a"}', "not of the form"),
        ('{"doc": "a"}', 'neither a "text" nor "sentences"'),
        ('{"doc": "a", "text": 1}', 'neither a "text" nor "sentences"'),
        ('{"doc": "a", "sentences": ["a", 1]}', 'neither a "text" nor "sentences"'),
        ('{"doc": "a", "text": "a", "sentences": "a"}', 'neither a "text" nor "sentences"'),
        ('{"doc": "first", "par": 1, "text": "a"}', "paragraph 1 comes after paragraph 2"),
        ('{"doc": "zeroth", "par": 1, "text": "a"}', "the document 'zeroth' ended before"),
    ],
)
def test_an_invalid_line_is_reported(tmp_path: Path, line: str, complaint: str) -> None:
    good = ('{"doc": "zeroth", "par": 0, "text": "Fine."}', '{"doc": "first", "par": 2, "text": "Fine."}')
    file = write(tmp_path / "bad.jsonl", *good, "", line)
    with pytest.raises(BadCorpus, match=rf"bad\.jsonl, line 4: .*{complaint}"):
        read(file)


def test_files_without_text_are_reported(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus, match=rf"{tmp_path} contains no text: names must end in \.jsonl or \.txt"):
        text_files([tmp_path])
    with pytest.raises(BadCorpus, match=r"picture\.png contains no text"):
        text_files([write(tmp_path / "picture.png", "x")])
    latin = tmp_path / "latin.txt"
    latin.write_bytes("All in ASCII.\nThis is not: Weiß.\n".encode("latin-1"))
    with pytest.raises(BadCorpus, match=r"latin\.txt, line 2: this is not UTF-8"):
        read(latin)


def test_a_file_given_twice_is_read_once(tmp_path: Path) -> None:
    files = [write(tmp_path / "b.txt", "Öl ist teuer."), write_json(tmp_path / "a.jsonl", {"doc": 1, "text": "é"})]
    read_bytes: list[int] = []
    found = list(read_documents(text_files([files[0], tmp_path]), read_bytes.append))
    assert [each.name for each in found] == ["b.txt", "a.jsonl:1"]
    assert sum(read_bytes) == sum(file.stat().st_size for file in files)
