"""Files of which each page is a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal

from semblance.models.files.lines import Advance
from semblance.service.files.encodings import encoding_of
from semblance.service.files.formats.office import docx_page, pdf_pages
from semblance.service.files.formats.page_texts import Page, html_page, markdown_page, rst_page, text_of, text_page
from semblance.service.files.sources import Format, Reading, SourceRow

PART_CHARS = 50_000  # a longer page becomes several documents

_TEXTS = {"markdown": markdown_page, "rst": rst_page, "text": text_page}


class PageFile:
    """Pages of one file, as documents with an id, a title, and the number of a page of several.

    A page without a title has the name of its file. The id is the name of the file, with `#page=` for a page of a PDF
    and `#part=` for the parts of a text of more than `PART_CHARS`.

    Args:
        file: the file.
        name: what it is called, relative to its folder.
        reading: how to read it; its format is one of `PAGES`.

    Raises:
        BadDataSet: the file cannot be read.
        MissingExtra: PDF or DOCX without the extra `files`.
    """

    unit: ClassVar[Literal["page"]] = "page"
    typed: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...] | None] = None
    unnamed: ClassVar[Sequence[int]] = ()

    def __init__(self, file: Path, name: str, reading: Reading) -> None:
        assert reading.format is not None
        self._name = name
        encoding = (reading.encoding or encoding_of(file)) if reading.format in _TEXTS else reading.encoding
        self.reading = Reading(reading.format, encoding)
        self._pages = list(_pages(file, reading.format, encoding))
        self.size = len(self._pages)

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """All pages."""
        number = 0
        for page in self._pages:
            for suffix, text in _parts(page.text):
                number += 1
                yield SourceRow(number, self._fields(page, text, suffix))
            if advance is not None:
                advance(1)

    def _fields(self, page: Page, text: str, suffix: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {"title": page.title or PurePosixPath(self._name).stem, "file": self._name}
        place = ""
        if page.number is not None:
            metadata["page"] = page.number
            place = f"#page={page.number}"
        return {"id": f"{self._name}{place}{suffix}", "text": text, "metadata": metadata}


def _pages(file: Path, kind: Format, encoding: str | None) -> Iterator[Page]:
    match kind:
        case "pdf":
            yield from pdf_pages(file)
        case "docx":
            yield docx_page(file)
        case "html":
            yield html_page(file.read_bytes() if encoding is None else text_of(file, encoding))
        case _:
            assert encoding is not None
            yield _TEXTS[kind](text_of(file, encoding))


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Parts of a text, with the ends of their ids; the first has none."""
    number = 1
    while len(text) > PART_CHARS:
        cut = max(text.rfind(end, PART_CHARS // 2, PART_CHARS) for end in "\n ") + 1 or PART_CHARS
        yield _end(number), text[:cut].rstrip()
        text, number = text[cut:].lstrip(), number + 1
    yield _end(number), text


def _end(number: int) -> str:
    return "" if number == 1 else f"#part={number}"
