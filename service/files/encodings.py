"""Encodings of text files, by their bytes."""

from __future__ import annotations

import gzip
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE, getincrementaldecoder, lookup
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import UTF_8, decompressed

GUESSED = (  # what programs of today write; DOS's are too like them to be guessed
    "big5hkscs", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874",
    "cp932", "cp949", "euc-jp", "gb18030", "koi8-r", "koi8-u", "mac-roman", "utf-16-be", "utf-16-le",
)  # fmt: skip
_MARKS = {BOM_UTF32_LE: "utf-32", BOM_UTF32_BE: "utf-32", BOM_UTF16_LE: "utf-16", BOM_UTF16_BE: "utf-16"}
_BLOCK = 1 << 20  # bytes that are decoded together


def encoding_of(file: Path) -> str:
    """Encoding of a text file: by a byte order mark, UTF-8 if all of it is valid, else a guess.

    The guess looks at the letters of the lines that are not ASCII; a few words may be taken for another language.

    Raises:
        BadDataSet: the file cannot be read, or its bytes are not text in any of `GUESSED`.
    """
    decoder = getincrementaldecoder(UTF_8)()
    begun = False
    try:
        with file.open("rb") as stored, decompressed(file, stored) as stream:
            while block := stream.read(_BLOCK):
                if not begun and (mark := _mark(block)):
                    return mark
                begun = True
                try:
                    if 0 in block:
                        return _guessed(file, block)
                    decoder.decode(block)
                except UnicodeDecodeError as error:
                    # lines of ASCII say nothing about the others
                    return _guessed(file, b"\n".join(line for line in error.object.split(b"\n") if not line.isascii()))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadDataSet(f"{file} cannot be decompressed: {error}") from error
    except OSError as error:
        raise BadDataSet(f"{file} cannot be read: {error.strerror}") from error
    return UTF_8


def known_encoding(name: str) -> str:
    """A name of an encoding of text, as Python knows it.

    >>> known_encoding("Windows-1252"), known_encoding("UTF8")
    ('cp1252', 'utf-8')

    Raises:
        BadDataSet: it is unknown, or not one of texts.
    """
    try:
        found = lookup(name)
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise BadDataSet(f"{name!r} is not an encoding: name one such as utf-8, cp1252 (Windows) or utf-16")
    return found.name


def _mark(block: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS.items() if block.startswith(mark)), None)


def _guessed(file: Path, sample: bytes) -> str:
    from chardet import detect  # noqa: PLC0415 - its tables take 20 ms, and most files are UTF-8

    found = detect(sample, prefer_superset=True, compat_names=False, include_encodings=GUESSED)["encoding"]
    if found is None:
        raise BadDataSet(f"{file} is not a text in an encoding that is known here: save it as UTF-8")
    return known_encoding(found)
