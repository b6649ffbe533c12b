"""Text files of word vectors: a word and its d numbers a line, as word2vec, GloVe and fastText write them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint

_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
_LEAST = 1e-15  # of the largest number of a vector: its square is still far from the least of float32


@dataclass(frozen=True, slots=True)
class Head:
    """What the first line tells: d, and how many lines follow it where word2vec's header says so."""

    dim: int
    lines: int | None = None


def read_head(file: Path) -> Head:
    """The first line.

    Raises:
        BadCheckpoint: it is neither "count dim" nor a word and numbers.
    """
    with file.open("rb") as stream:
        fields = stream.readline(_BLOCK).removeprefix(_BOM).split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return Head(dim=int(fields[1]), lines=int(fields[0]))
    numbers = 0
    while numbers < len(fields) - 1 and _is_number(fields[-1 - numbers]):  # the word itself may hold spaces
        numbers += 1
    if numbers == 0:
        raise BadCheckpoint(f'{file}, line 1: neither a word with its numbers, nor "count dim"')
    return Head(dim=numbers)


def read_vectors(file: Path) -> tuple[dict[str, int], Floats]:
    """Word -> row, and the rows (n, d) float32. Of a word that stands there twice, the first row counts.

    Line by line, so that it takes little more memory than its result.

    Raises:
        BadCheckpoint: naming the line that is malformed.
    """
    head = read_head(file)
    vectors = np.empty((_line_count(file), head.dim), np.float32)
    rows: dict[str, int] = {}
    number = read = 0
    for number, line in _lines(file, head):
        word, numbers = _split(line, head.dim, file, number)
        read += 1
        if word not in rows:
            try:
                with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused below
                    vectors[len(rows)] = [float(each) for each in numbers]
            except ValueError as error:
                raise BadCheckpoint(f"{file}, line {number}: {error}") from error
            rows[word] = len(rows)
    if head.lines is not None and read != head.lines:
        raise BadCheckpoint(f"{file} ends at line {number}: its header says {head.lines:,} vectors, it holds {read:,}")
    known = vectors[: len(rows)]
    require_finite(known, file)
    return rows, known


def require_finite(vectors: NDArray[np.number], file: Path) -> None:
    """Refuse NaN, infinity, and numbers whose squares float32 cannot hold: no score can come from them.

    Raises:
        BadCheckpoint: naming the row.
    """
    for start in range(0, len(vectors), _BLOCK // 64):  # in blocks: a mask of all would be another large array
        block = vectors[start : start + _BLOCK // 64]
        largest = np.maximum(block.max(axis=1).astype(np.float64), -block.min(axis=1).astype(np.float64))
        bad = ~((largest == 0) | ((largest > _LEAST) & (largest < 1 / _LEAST)))
        if bad.any():
            row = int(bad.argmax())
            which = f"outside {_LEAST:g} to {1 / _LEAST:g}" if np.isfinite(largest[row]) else "that is not finite"
            raise BadCheckpoint(f"{file} holds a number {which}, in vector {start + row + 1}")


def _lines(file: Path, head: Head) -> Iterator[tuple[int, bytes]]:
    """Line number and line, without the header, line ends and empty lines at the end of the file."""
    with file.open("rb") as stream:
        empty: int | None = None
        first = 0 if head.lines is None else 1
        for number, raw in enumerate(islice(stream, first, None), first + 1):
            line = (raw.removeprefix(_BOM) if number == 1 else raw).rstrip(b" \t\r\n")
            if not line:
                empty = empty or number
            elif empty:
                raise BadCheckpoint(f"{file}, line {empty}: it is empty")
            else:
                yield number, line


def _split(line: bytes, dim: int, file: Path, number: int) -> tuple[str, list[bytes]]:
    """The word and its d numbers. A word may hold spaces, but then not only numbers follow its first part."""
    word, *numbers = line.rsplit(None, dim)
    extra = word.split()[1:]
    if len(numbers) != dim or (extra and all(map(_is_number, extra))):
        raise BadCheckpoint(f"{file}, line {number}: {len(line.split()) - 1} numbers after the word, not {dim}")
    return word.decode("utf-8", "replace"), numbers


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _line_count(file: Path) -> int:
    with file.open("rb") as stream:
        breaks = sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK), b""))
    return breaks + 1  # the last line may end without one
