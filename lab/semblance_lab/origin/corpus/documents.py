"""Read documents of paragraphs, and split text into sentences and words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import sentencex
from tokenizers import normalizers

from semblance.models.files.digests import file_sha256
from semblance.models.files.lines import Advance, json_lines, numbered_lines
from semblance_lab.evaluation.contamination import normal_form
from semblance_lab.origin.errors import BadCorpus

Paragraph: TypeAlias = tuple[str, ...]  # sentences

_SUFFIXES = (".jsonl", ".txt")
_NORMALIZER = normalizers.BertNormalizer(
    clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=True
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file to read, and its relative name, which prefixes the names of its documents."""

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
class CorpusDocument:
    """Name and paragraphs of a document; white space inside a sentence is a single space."""

    name: str
    paragraphs: Sequence[Paragraph]


def text_files(paths: Sequence[Path]) -> list[TextFile]:
    """List the files *.jsonl and *.txt among paths and in folders at any depth, by name.

    Raises:
        BadCorpus: a path contains none.
    """
    files: dict[Path, TextFile] = {}
    for path in paths:
        folder = path if path.is_dir() else path.parent
        candidates = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        texts = [TextFile(file, file.relative_to(folder).as_posix()) for file in candidates if file.suffix in _SUFFIXES]
        if not texts:
            raise BadCorpus(f"{path} contains no text: names must end in {' or '.join(_SUFFIXES)}")
        for text in texts:
            files.setdefault(text.path.resolve(), text)
    return list(files.values())


def read_documents(files: Sequence[TextFile], advance: Advance) -> Iterator[CorpusDocument]:
    """Yield the documents of files, with one in memory at a time.

    A file *.txt is one document; blank lines separate its paragraphs. A line of *.jsonl is a paragraph of the form
    {"doc": ..., "par": ..., "text": ...}, or has "sentences", a list, instead of "text". The lines of a document are
    consecutive, and "par", which is optional, never decreases. A repeated name starts another document if "par" starts
    over. Texts are split into sentences by punctuation, in any language; given sentences are not split.

    Args:
        files: as `text_files` lists them.
        advance: progress callback: receives the number of new bytes read.

    Raises:
        BadCorpus: a file cannot be read, or a line does not have that form; the message names both.
    """
    for file in files:
        yield from _read_json_lines(file, advance) if file.path.suffix == ".jsonl" else _read_plain(file, advance)


def split_sentences(text: str) -> Paragraph:
    """Split a text into sentences.

    >>> split_sentences("Mr. Smith  left. Why? No one knew.")
    ('Mr. Smith left.', 'Why?', 'No one knew.')
    """
    return _collapse_spaces(sentencex.segment("en", " ".join(text.split())))  # "en" handles full stops of all scripts


def words(sentence: str) -> list[str]:
    """Split a sentence into lower-cased words without punctuation; each Han character is a word.

    >>> words("The dog's bone, 你好")
    ['the', 'dog', 's', 'bone', '你', '好']
    """
    return normal_form(_NORMALIZER.normalize_str(sentence)).split()


def _collapse_spaces(sentences: Sequence[str]) -> Paragraph:
    return tuple(collapsed for sentence in sentences if (collapsed := " ".join(sentence.split())))


def _read_plain(file: TextFile, advance: Advance) -> Iterator[CorpusDocument]:
    lines = [line.strip() for _, line in numbered_lines(file.path, error_type=BadCorpus)]
    advance(file.size)
    texts = [" ".join(group) for filled, group in groupby(lines, bool) if filled]
    yield CorpusDocument(file.name, [split_sentences(text) for text in texts])


def _read_json_lines(file: TextFile, advance: Advance) -> Iterator[CorpusDocument]:
    name: str | None = None
    before = -math.inf  # number of the previous paragraph
    paragraphs: list[Paragraph] = []
    first_par: dict[str, float | None] = {}  # document -> the number of its first paragraph
    for number, row in json_lines(file.path, BadCorpus, advance):
        where = f"{file.path}, line {number}"
        doc, par, paragraph = _parse_paragraph(row, where)
        if doc != name:
            if first_par.setdefault(doc, par) != par:  # equal: another document of the same name
                raise BadCorpus(f"{where}: the document {doc!r} ended before: its lines must be consecutive")
            if name is not None:
                yield CorpusDocument(f"{file.name}:{name}", paragraphs)
            name, paragraphs, before = doc, [], -math.inf
        elif par is not None and par < before:
            raise BadCorpus(f"{where}: paragraph {par} comes after paragraph {before}: they must be in order")
        before = before if par is None else par
        paragraphs.append(paragraph)
    if name is not None:
        yield CorpusDocument(f"{file.name}:{name}", paragraphs)


def _parse_paragraph(row: Mapping[str, Any], where: str) -> tuple[str, float | None, Paragraph]:
    """Document, paragraph number and sentences of a line."""
    doc, par, text, sentences = (row.get(name) for name in ("doc", "par", "text", "sentences"))
    if not isinstance(doc, str | int) or not isinstance(par, int | float | None):
        raise BadCorpus(f'{where}: not of the form {{"doc": "name", "par": 0, "text": ...}}')
    if isinstance(sentences, list) and all(isinstance(sentence, str) for sentence in sentences):
        return str(doc), par, _collapse_spaces(sentences)
    if isinstance(text, str) and sentences is None:
        return str(doc), par, split_sentences(text)
    raise BadCorpus(f'{where}: it has neither a "text" nor "sentences", a list of texts')
