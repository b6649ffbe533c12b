"""Small PDF and DOCX files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from docx import Document


def write_pdf(file: Path, pages: Sequence[str], title: str = "") -> Path:
    """A PDF with a line of ASCII on each page."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /Contents {5 + 2 * i} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    objects.append(f"<< /Title ({title}) >>")
    content, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{each}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    end = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}\nstartxref\n{len(content)}\n%%EOF"
    )
    file.write_bytes(content + end.encode())
    return file


def write_docx(file: Path, title: str, *paragraphs: str) -> Path:
    """A DOCX with a heading, paragraphs and a table."""
    document = Document()
    document.add_heading(title, 1)
    for each in paragraphs:
        document.add_paragraph(each)
    table = document.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "left", "right"
    document.save(str(file))
    return file


def replace_part(file: Path, parts: Mapping[str, bytes]) -> Path:
    """Replace parts of a DOCX."""
    with ZipFile(file) as old:
        kept = {name: old.read(name) for name in old.namelist()}
    with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as new:
        for name, content in {**kept, **parts}.items():
            new.writestr(name, content)
    return file
