"""A model before it is loaded: where it comes from, what its files say, and what was asked of it.

A file of `models/formats/` reads one kind of model files, such as the folder of a transformer. It imports no library
that takes long to import (torch), so that models can be listed and checked at once; `load` does.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from models import catalogue
from models.errors import BadCheckpoint
from models.protocols import Encoder
from models.runtime import Compute

T = TypeVar("T")

FAMILY = "models.formats"

_SETTLED_NS = 2 * 10**9  # the clocks of file systems may not tell apart what is written within less


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from.

    Attributes:
        path: its folder or file.
        options: what was asked of it, by name, such as {"pooling": "max"}.
        weights_sha256: the SHA-256 that its weights must have, where that is known.
        adapter_sha256: the same of the weights in the folder that the option `adapter` names.
    """

    path: Path
    options: Mapping[str, str] = field(default_factory=dict)
    weights_sha256: str | None = None
    adapter_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """What the files of a model say.

    Attributes:
        location: the folder or file that holds the vectors or weights.
        pooling: how token vectors become one vector: mean, cls or max.
        normalize: whether that vector is brought to unit length.
        max_tokens: most tokens a text may have; None where only the loaded model says.
        space: digest of everything that decides what a vector means.
        needs_device: whether it is a network, which runs on a device of torch; else it is a table in memory.
        load: makes the encoder, of the name it is served under and where and how it runs. It raises BadCheckpoint where
            the files cannot be loaded, NotExportable where the runtime cannot run the network, and BuildDisagrees where
            its vectors are too far from those of torch in float32.
    """

    location: Path
    pooling: str
    normalize: bool
    max_tokens: int | None
    space: str
    needs_device: bool
    load: Callable[[str, Compute], Encoder]


class Format(Protocol):
    """One kind of model files.

    Attributes:
        options: the options that it knows.
        general: whether it takes any folder that no other format takes, and so is asked last.
    """

    options: ClassVar[tuple[str, ...]]
    general: ClassVar[bool]

    def reads(self, path: Path) -> bool:
        """Whether this looks like such files."""

    def read(self, source: Source) -> ModelFiles:
        """What the files say.

        Raises:
            BadCheckpoint: a file is missing, altered or not supported, or an option has no such value.
        """


def format_of(path: Path) -> Format:
    """The format that reads this folder or file.

    Raises:
        BadCheckpoint: none does.
    """
    if not path.exists():
        raise BadCheckpoint(f"{path} is not a folder, and no file either: give the folder or the file of a model")
    formats: list[Format] = [catalogue.find(FAMILY, name)() for name in catalogue.names(FAMILY)]
    for each in sorted(formats, key=lambda one: one.general):
        if each.reads(path):
            return each
    raise BadCheckpoint(
        f"{path} is no file of vectors: give a text file of word2vec, GloVe or fastText, a .npz, or a model's folder"
    )


def require_known(options: Iterable[str], known: Iterable[str], path: Path) -> None:
    """Refuse options that do not exist for this model.

    Raises:
        BadCheckpoint: naming the first of them, and what there is.
    """
    known = sorted(set(known))
    for name in options:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise BadCheckpoint(f"{path} has no option {name!r}: {there}")


def digest(**parts: Any) -> str:
    """SHA-256 of JSON values by name, in hexadecimal."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def file_sha256(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal; a file that several models share is read once, unless it is written meanwhile.

    Raises:
        BadCheckpoint: it cannot be read.
    """
    try:
        found = file.stat()
        if time.time_ns() - found.st_mtime_ns < _SETTLED_NS:
            return _sha256(file)
        return _known_sha256(file, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
    except OSError as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error


@lru_cache
def _known_sha256(file: Path, _version: tuple[int, ...]) -> str:
    return _sha256(file)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_json(file: Path, kind: type[T]) -> T:
    """What a JSON file holds: a dict or a list, as `kind` says.

    Raises:
        BadCheckpoint: it cannot be read, or holds something else.
    """
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error
    if not isinstance(found, kind):
        raise BadCheckpoint(f"{file} holds no JSON {'object' if kind is dict else 'array'}")
    return found
