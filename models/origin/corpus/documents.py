"""The text that a corpus is made of: documents of paragraphs of sentences, in order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import sentencex

from semblance.models.files.digests import file_sha256
from semblance.models.files.lines import Advance, json_lines, numbered_lines
from semblance.models.origin.errors import BadCorpus

Paragraph: TypeAlias = tuple[str, ...]  # sentences

_SUFFIXES = (".jsonl", ".txt")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file to read, and its name within the folder that was given, by which its documents are named."""

    path: Path
    name: str

    @property
    def size(self) -> int:
        """Bytes."""
        return self.path.stat().st_size

    @property
    def sha256(self) -> str:
        """Of its content, in hexadecimal."""
        return file_sha256(self.path)


@dataclass(frozen=True, slots=True)
class Document:
    """A document's name, and its paragraphs in order; white space inside a sentence is one space."""

    name: str
    paragraphs: Sequence[Paragraph]


def text_files(paths: Sequence[Path]) -> list[TextFile]:
    """The files *.jsonl and *.txt among these and in these folders at any depth, in the order of their names.

    Raises:
        BadCorpus: one of the paths holds none.
    """
    found: dict[Path, TextFile] = {}
    for path in paths:
        folder = path if path.is_dir() else path.parent
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        its = [TextFile(file, file.relative_to(folder).as_posix()) for file in files if file.suffix in _SUFFIXES]
        if not its:
            raise BadCorpus(f"{path} holds no text: names must end in {' or '.join(_SUFFIXES)}")
        for file in its:
            found.setdefault(file.path.resolve(), file)
    return list(found.values())


def read_documents(files: Sequence[TextFile], advance: Advance) -> Iterator[Document]:
    """The documents of files, one in memory at a time.

    A file *.txt is a document, with its paragraphs between blank lines. A line of *.jsonl is a paragraph of the form
    {"doc": ..., "par": ..., "text": ...}, or has "sentences", a list, in the place of "text"; the lines of a document
    follow each other, and "par", which may be left out, never falls. A name that comes again is another document's, if
    "par" begins anew. Texts are split into sentences, whatever their language, by where sentences end in writing; given
    sentences are not split.

    Args:
        files: what `text_files` found.
        advance: is told how many more bytes are read.

    Raises:
        BadCorpus: a file cannot be read, or a line is not of that form; the message names both.
    """
    for file in files:
        yield from _of_lines(file, advance) if file.path.suffix == ".jsonl" else _of_plain(file, advance)


def sentences_of(text: str) -> Paragraph:
    """The sentences of a text.

    >>> sentences_of("Mr. Smith  left. Why? Nobody knew.")
    ('Mr. Smith left.', 'Why?', 'Nobody knew.')
    """
    return _stripped(sentencex.segment("en", " ".join(text.split())))  # it knows the full stops of all scripts


def _stripped(sentences: Sequence[str]) -> Paragraph:
    return tuple(found for each in sentences if (found := " ".join(each.split())))


def _of_plain(file: TextFile, advance: Advance) -> Iterator[Document]:
    lines = [line.strip() for _, line in numbered_lines(file.path, refusal=BadCorpus)]
    advance(file.size)
    texts = [" ".join(group) for filled, group in groupby(lines, bool) if filled]
    yield Document(file.name, [sentences_of(text) for text in texts])


def _of_lines(file: TextFile, advance: Advance) -> Iterator[Document]:
    name: str | None = None
    before = -math.inf  # the number of the last paragraph
    paragraphs: list[Paragraph] = []
    begun: dict[str, float | None] = {}  # document -> the number of its first paragraph
    for number, row in json_lines(file.path, BadCorpus, advance):
        where = f"{file.path}, line {number}"
        doc, par, paragraph = _paragraph(row, where)
        if doc != name:
            if begun.setdefault(doc, par) != par:  # else another document of that name
                raise BadCorpus(f"{where}: the document {doc!r} ended before: its lines must follow each other")
            if name is not None:
                yield Document(f"{file.name}:{name}", paragraphs)
            name, paragraphs, before = doc, [], -math.inf
        elif par is not None and par < before:
            raise BadCorpus(f"{where}: paragraph {par} comes after paragraph {before}: they must be in order")
        before = before if par is None else par
        paragraphs.append(paragraph)
    if name is not None:
        yield Document(f"{file.name}:{name}", paragraphs)


def _paragraph(row: Mapping[str, Any], where: str) -> tuple[str, float | None, Paragraph]:
    """The document, the number and the sentences of a line."""
    doc, par, text, sentences = (row.get(name) for name in ("doc", "par", "text", "sentences"))
    if not isinstance(doc, str | int) or not isinstance(par, int | float | None):
        raise BadCorpus(f'{where}: not of the form {{"doc": "name", "par": 0, "text": ...}}')
    if isinstance(sentences, list) and all(isinstance(each, str) for each in sentences):
        return str(doc), par, _stripped(sentences)
    if isinstance(text, str) and sentences is None:
        return str(doc), par, sentences_of(text)
    raise BadCorpus(f'{where}: it has neither a "text" nor "sentences", a list of texts')
