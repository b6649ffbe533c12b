"""Read from a font file which characters it has, and how wide they are."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

_COLLECTION = b"ttcf"  # of several fonts, which share their characters: the first one is read


def advances(path: Path) -> dict[int, float]:
    """Widths of the characters of a font file, in units of the font size, by code point.

    They are those of single characters: where a font joins several, as in Devanagari, a word is a little narrower.

    Source: the tables cmap (formats 4 and 12), head, hhea and hmtx of OpenType 1.9.
    """
    content = path.read_bytes()
    tables = _tables(content)
    (units_per_em,) = struct.unpack_from(">H", content, tables[b"head"] + 18)
    (count,) = struct.unpack_from(">H", content, tables[b"hhea"] + 34)
    widths = struct.unpack_from(">" + "Hh" * count, content, tables[b"hmtx"])[::2]
    glyphs = _glyphs(content, tables[b"cmap"])
    return {code: widths[min(glyph, count - 1)] / units_per_em for code, glyph in glyphs if glyph}


def _tables(content: bytes) -> dict[bytes, int]:
    """Place of each table."""
    start = struct.unpack_from(">I", content, 12)[0] if content.startswith(_COLLECTION) else 0
    (count,) = struct.unpack_from(">H", content, start + 4)
    records = (struct.unpack_from(">4sIII", content, start + 12 + 16 * i) for i in range(count))
    return {name: place for name, _, place, _ in records}


def _glyphs(content: bytes, cmap: int) -> Iterator[tuple[int, int]]:
    """Code points with their glyphs, those of all planes where the font has them."""
    (count,) = struct.unpack_from(">H", content, cmap + 2)
    places = {cmap + struct.unpack_from(">I", content, cmap + 8 + 8 * i)[0] for i in range(count)}
    subtables = {struct.unpack_from(">H", content, place)[0]: place for place in places}
    if 12 in subtables:
        return _groups(content, subtables[12])
    return _segments(content, subtables[4])


def _groups(content: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Format 12: groups of code points whose glyphs follow each other."""
    (count,) = struct.unpack_from(">I", content, start + 12)
    for i in range(count):
        first, last, glyph = struct.unpack_from(">III", content, start + 16 + 12 * i)
        yield from zip(range(first, last + 1), range(glyph, glyph + last - first + 1), strict=True)


def _segments(content: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Format 4: segments of code points below U+FFFF, with a difference or a list of glyphs."""
    (twice,) = struct.unpack_from(">H", content, start + 6)
    ends = start + 14
    for place in range(ends, ends + twice, 2):
        (last,) = struct.unpack_from(">H", content, place)
        first, delta, offset = (struct.unpack_from(">H", content, place + 2 + k * twice)[0] for k in range(1, 4))
        for code in range(first, min(last, 0xFFFE) + 1):
            glyph = code
            if offset:
                (glyph,) = struct.unpack_from(">H", content, place + 2 + 3 * twice + offset + 2 * (code - first))
            yield code, (glyph + delta) % 0x10000 if glyph else 0
