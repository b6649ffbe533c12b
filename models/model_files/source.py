"""A model before it is loaded: where it comes from, what its files say, and what was asked of it.

A file of `models/formats/` reads one kind of model files, such as the folder of a transformer. It imports no library
that takes long to import (torch), so that models can be listed and checked at once; `load` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from semblance.models import catalogue
from semblance.models.errors import BadCheckpoint
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute

FAMILY = "semblance.models.formats"


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
