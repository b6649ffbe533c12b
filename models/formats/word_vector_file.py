"""Files of word vectors: text as word2vec, GloVe and fastText write it, or NumPy's .npz."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from semblance.models.embeddings import Floats
from semblance.models.encoders.word_vectors import VectorTable, table_model_files
from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.lines import numbered_lines
from semblance.models.model_files.source import ModelFiles, Source
from semblance.models.tokenization.words import TableTokenizer, tokenizer_for

MAX_TOKENS = 512
_WORDS = ("words", "vocab")  # names of the array of words in a .npz
_NUMPY_ERRORS = (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)  # of an unreadable .npz
_BOM = b"\xef\xbb\xbf"
_BLOCK_BYTES = 1 << 20


class WordVectorFile:
    """A text file, a word and its numbers per line, or a .npz with an array `vectors` (n, d).

    The words of a .npz are in its array `words` or `vocab`, or one per line in FILE.vocab.txt beside FILE.npz. Its
    numbers may be floats of any type, or int8: these are used unscaled, since one scale for the whole table changes no
    measure of angles.
    """

    options: ClassVar[tuple[str, ...]] = ()
    fallback: ClassVar[bool] = False

    def reads(self, path: Path) -> bool:
        """Any file; `read` reports what is wrong with it."""
        return path.is_file()

    def read(self, source: Source) -> ModelFiles:
        """Read the first line of a text file, or the array names of a .npz.

        Raises:
            BadCheckpoint: it is not a file of word vectors, or its SHA-256 is not the expected one.
        """
        file = source.path
        sha256 = file_sha256(file)
        if source.weights_sha256 not in (None, sha256):
            raise BadCheckpoint(f"{file} has SHA-256 {sha256}, expected {source.weights_sha256}: install it again")
        vocabulary: Path | None = None
        words: dict[str, str | None] = {}
        if file.suffix == ".npz":
            vocabulary = _vocabulary_file(file)
            words = {"words": None if vocabulary is None else file_sha256(vocabulary)}
        else:
            _read_header(file)
        settings = {"max_tokens": MAX_TOKENS, "pooling": "mean"}
        space = digest(kind="words", vectors=sha256, settings=settings, **words)
        return table_model_files(file, space, partial(_load, file, vocabulary), max_tokens=MAX_TOKENS, normalize=False)


def _load(file: Path, vocabulary: Path | None) -> tuple[VectorTable, TableTokenizer]:
    rows, vectors = _read_arrays(file, vocabulary) if file.suffix == ".npz" else _read_text(file)
    if not rows:
        raise BadCheckpoint(f"{file} holds no vector")
    return VectorTable(vectors), tokenizer_for(rows)


def _vocabulary_file(file: Path) -> Path | None:
    """The file of words beside a .npz; None if it holds them itself."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            names = set(arrays.files)
    except _NUMPY_ERRORS as error:
        raise BadCheckpoint(f"{file} is no .npz of plain arrays: {error}") from error
    if "vectors" not in names:
        raise BadCheckpoint(f"{file} has no array `vectors`; it has {', '.join(sorted(names)) or 'none'}")
    beside = file.with_suffix(".vocab.txt")
    if names.intersection(_WORDS):
        return None
    if not beside.exists():
        raise BadCheckpoint(f"{file} has no array {' or '.join(_WORDS)}, and there is no file {beside}")
    return beside


def _read_arrays(file: Path, vocabulary: Path | None) -> tuple[dict[str, int], np.ndarray]:
    """Word -> row, and the rows (n, d), of a .npz."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            vectors = arrays["vectors"]
            raw = [] if vocabulary else arrays[next(name for name in _WORDS if name in arrays.files)].tolist()
        words = [each.decode() if isinstance(each, bytes) else str(each) for each in raw]
    except _NUMPY_ERRORS as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error
    if vocabulary:
        words = [word for _, word in numbered_lines(vocabulary, error_type=BadCheckpoint)]
    if vectors.ndim != 2 or not (vectors.dtype.kind == "f" or vectors.dtype == np.int8):
        raise BadCheckpoint(f"{file}: `vectors` is {vectors.dtype} {vectors.shape}, not (n, d) of floats or int8")
    if len(words) != len(vectors):
        raise BadCheckpoint(f"{file} has {len(vectors):,} vectors for {len(words):,} words")
    if vectors.dtype.itemsize > 4:
        vectors = vectors.astype(np.float32)
    return _first_rows(words), vectors


def _first_rows(words: Sequence[str]) -> dict[str, int]:
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    return rows


@dataclass(frozen=True, slots=True)
class _Header:
    """The first line of a text file: d, and the number of vectors if it is a header of word2vec."""

    dim: int
    vectors: int | None = None


def _read_header(file: Path) -> _Header:
    """Read the first line.

    Raises:
        BadCheckpoint: it is neither "count dim" nor a word and numbers.
    """
    with file.open("rb") as stream:
        fields = stream.readline(_BLOCK_BYTES).removeprefix(_BOM).split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return _Header(dim=int(fields[1]), vectors=int(fields[0]))
    numbers = 0
    while numbers < len(fields) - 1 and _is_number(fields[-1 - numbers]):  # the word itself may contain spaces
        numbers += 1
    if numbers == 0:
        raise BadCheckpoint(f'{file}, line 1: neither a word with its numbers, nor "count dim"')
    return _Header(dim=numbers)


def _read_text(file: Path) -> tuple[dict[str, int], Floats]:
    """Word -> row, and the rows (n, d) float32, of a text file.

    The first row of a repeated word counts. Reads line by line, so that it takes little more memory than its result.

    Raises:
        BadCheckpoint: names the malformed line.
    """
    header = _read_header(file)
    vectors = np.empty((_line_count(file), header.dim), np.float32)
    rows: dict[str, int] = {}
    number = read = 0
    for number, line in _lines(file, header):
        word, numbers = _split(line, header.dim, file, number)
        read += 1
        if word not in rows:
            try:
                with np.errstate(over="ignore"):  # overflow becomes infinity, which is rejected later
                    vectors[len(rows)] = [float(each) for each in numbers]
            except ValueError as error:
                raise BadCheckpoint(f"{file}, line {number}: {error}") from error
            rows[word] = len(rows)
    if header.vectors is not None and read != header.vectors:
        raise BadCheckpoint(
            f"{file} ends at line {number}: its header says {header.vectors:,} vectors, it holds {read:,}"
        )
    return rows, vectors[: len(rows)]


def _lines(file: Path, header: _Header) -> Iterator[tuple[int, bytes]]:
    """Numbered lines without the header, line ends, and empty lines at the end of the file."""
    with file.open("rb") as stream:
        empty: int | None = None
        first = 0 if header.vectors is None else 1
        for number, raw in enumerate(islice(stream, first, None), first + 1):
            line = (raw.removeprefix(_BOM) if number == 1 else raw).rstrip(b" \t\r\n")
            if not line:
                empty = empty or number
            elif empty:
                raise BadCheckpoint(f"{file}, line {empty}: it is empty")
            else:
                yield number, line


def _split(line: bytes, dim: int, file: Path, number: int) -> tuple[str, list[bytes]]:
    """The word and its d numbers; after a space in the word, not only numbers may follow."""
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
        breaks = sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK_BYTES), b""))
    return breaks + 1  # the last line may have no line end
