"""Files of word vectors: text as word2vec, GloVe and fastText write it, or NumPy's .npz."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from semblance.models.encoders.word_vectors import Table, table_files
from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.lines import numbered_lines
from semblance.models.model_files.source import ModelFiles, Source
from semblance.models.model_files.word_vectors_text import read_head, read_vectors, require_finite
from semblance.models.tokenization.words import WordTokenizer, tokenizer_for

MAX_TOKENS = 512
_WORDS = ("words", "vocab")  # names of the array of words in a .npz
_UNREADABLE = (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)  # what NumPy may raise


class WordVectorFile:
    """A text file with a word and its numbers a line, or a .npz with an array `vectors` (n, d).

    The words of a .npz stand in its array `words` or `vocab`, or one a line in FILE.vocab.txt beside FILE.npz. Its
    numbers may be of any type of float, or int8: those are taken as they are, since one scale for the whole table
    changes no measure of angles.
    """

    options: ClassVar[tuple[str, ...]] = ()
    general: ClassVar[bool] = False

    def reads(self, path: Path) -> bool:
        """Any file: what is wrong with it is said when it is read."""
        return path.is_file()

    def read(self, source: Source) -> ModelFiles:
        """What the file says, as far as its beginning tells.

        Raises:
            BadCheckpoint: it is no such file, or not the one that it should be.
        """
        file = source.path
        sha256 = file_sha256(file)
        if source.weights_sha256 not in (None, sha256):
            raise BadCheckpoint(f"{file} has SHA-256 {sha256}, expected {source.weights_sha256}: install it again")
        vocabulary: Path | None = None
        words: dict[str, str | None] = {}
        if file.suffix == ".npz":
            vocabulary = _vocabulary_of(file)
            words = {"words": None if vocabulary is None else file_sha256(vocabulary)}
        else:
            read_head(file)
        settings = {"max_tokens": MAX_TOKENS, "pooling": "mean"}
        space = digest(kind="words", vectors=sha256, settings=settings, **words)
        return table_files(file, space, partial(_load, file, vocabulary), max_tokens=MAX_TOKENS, normalize=False)


def _load(file: Path, vocabulary: Path | None) -> tuple[Table, WordTokenizer]:
    rows, vectors = _read_arrays(file, vocabulary) if file.suffix == ".npz" else read_vectors(file)
    if not rows:
        raise BadCheckpoint(f"{file} holds no vector")
    return Table(vectors), tokenizer_for(rows)


def _vocabulary_of(file: Path) -> Path | None:
    """The file of words beside a .npz; None where it holds them itself."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            held = set(arrays.files)
    except _UNREADABLE as error:
        raise BadCheckpoint(f"{file} is no .npz of plain arrays: {error}") from error
    if "vectors" not in held:
        raise BadCheckpoint(f"{file} has no array `vectors`; it has {', '.join(sorted(held)) or 'none'}")
    beside = file.with_suffix(".vocab.txt")
    if held.intersection(_WORDS):
        return None
    if not beside.exists():
        raise BadCheckpoint(f"{file} has no array {' or '.join(_WORDS)}, and there is no {beside}")
    return beside


def _read_arrays(file: Path, vocabulary: Path | None) -> tuple[dict[str, int], np.ndarray]:
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            vectors = arrays["vectors"]
            held = [] if vocabulary else arrays[next(name for name in _WORDS if name in arrays.files)].tolist()
        words = [_word(each) for each in held]
    except _UNREADABLE as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error
    if vocabulary:
        words = [word for _, word in numbered_lines(vocabulary, refusal=BadCheckpoint)]
    if vectors.ndim != 2 or not (vectors.dtype.kind == "f" or vectors.dtype == np.int8):
        raise BadCheckpoint(f"{file}: `vectors` is {vectors.dtype} {vectors.shape}, not (n, d) of floats or int8")
    if len(words) != len(vectors):
        raise BadCheckpoint(f"{file} has {len(vectors):,} vectors for {len(words):,} words")
    if vectors.dtype.itemsize > 4:
        vectors = vectors.astype(np.float32)
    require_finite(vectors, file)
    return _first_rows(words), vectors


def _word(held: str | bytes) -> str:
    return held.decode() if isinstance(held, bytes) else str(held)


def _first_rows(words: Sequence[str]) -> dict[str, int]:
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    return rows
