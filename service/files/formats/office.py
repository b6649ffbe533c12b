"""Pages of PDF, by pypdf, and of DOCX, by python-docx, which the extra `files` installs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from semblance.models.errors import BadDataSet, MissingExtra
from semblance.models.files.tables import collapse_spaces
from semblance.service.files.formats.page_texts import Page

MAX_PAGES = 2000
MAX_UNPACKED = 200_000_000  # bytes of the parts of a DOCX


def pdf_pages(file: Path) -> Iterator[Page]:
    """The pages of a PDF that have text.

    Raises:
        BadDataSet: it is damaged, encrypted, has more than `MAX_PAGES`, or is without any text.
        MissingExtra: pypdf is not installed.
    """
    try:
        from pypdf import PdfReader  # noqa: PLC0415 - an extra
        from pypdf.errors import PyPdfError  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtra("a PDF", "pypdf", "files") from error
    try:
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise BadDataSet(f"{file} is encrypted: save it without a password")
        if len(reader.pages) > MAX_PAGES:
            raise BadDataSet(f"{file} has {len(reader.pages):,} pages, more than {MAX_PAGES:,}: split it")
        title = collapse_spaces((reader.metadata and reader.metadata.title) or "")
        pages = [Page(page.extract_text().strip(), title, number) for number, page in enumerate(reader.pages, 1)]
    except PyPdfError as error:
        raise BadDataSet(f"{file} cannot be read as PDF: {error}") from error
    with_text = [page for page in pages if page.text]
    if not with_text:
        raise BadDataSet(f"{file} has no text: if its pages are pictures, recognize their text (OCR) first")
    yield from with_text


def docx_page(file: Path) -> Page:
    """The paragraphs and tables of a DOCX as one page.

    Raises:
        BadDataSet: it is damaged, or unpacks to more than `MAX_UNPACKED`.
        MissingExtra: python-docx is not installed.
    """
    try:
        from docx import Document  # noqa: PLC0415 - an extra
        from docx.opc.exceptions import OpcError  # noqa: PLC0415
        from docx.table import Table  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtra("a DOCX", "python-docx", "files") from error
    try:
        with ZipFile(file) as parts:
            if sum(part.file_size for part in parts.infolist()) > MAX_UNPACKED:
                raise BadDataSet(f"{file} unpacks to more than {MAX_UNPACKED:,} bytes")
        document = Document(str(file))
    except (BadZipFile, KeyError, OpcError, ValueError) as error:
        raise BadDataSet(f"{file} cannot be read as DOCX") from error
    lines: list[str] = []
    title = document.core_properties.title or ""
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            lines += [" ".join(cell.text for cell in row.cells) for row in block.rows]
            continue
        if not title and block.style is not None and block.style.name in ("Title", "Heading 1"):
            title = block.text
        lines.append(block.text)
    return Page("\n".join(filter(None, map(collapse_spaces, lines))), collapse_spaces(title))
