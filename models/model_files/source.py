"""A model before it is loaded: its source, its options, and the settings in its files.

A module of `models/formats/` reads one format of model files, such as the folder of a transformer. It imports no large
library such as torch, so that models are listed and checked quickly; `load` does.
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
    """Files and options of a model.

    Attributes:
        path: its folder or file.
        options: values by name, such as {"pooling": "max"}.
        weights_sha256: expected SHA-256 of its weights, if known.
        adapter_sha256: likewise for the weights in the folder of the option `adapter`.
    """

    path: Path
    options: Mapping[str, str] = field(default_factory=dict)
    weights_sha256: str | None = None
    adapter_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Settings that were read from the files of a model, and how to load it.

    Attributes:
        location: the folder or file that holds the vectors or weights.
        pooling: how token vectors become one vector, such as mean, cls or max.
        is_mean: whether that vector has the direction of their weighted mean.
        normalize: whether that vector is normalized to unit length.
        max_tokens: maximum number of tokens of a text; None if only the loaded model knows.
        space: digest of everything that decides what a vector means.
        needs_device: True for a network, which runs on a device of torch; False for a table in memory.
        load: loads the encoder, given the name it is served under and a `Compute`. Raises BadCheckpoint if the files
            cannot be loaded, NotExportable if the runtime cannot run the network, and BuildDisagrees if its vectors
            differ too much from those of torch in float32.
        similarity: how its vectors are compared, as sentence-transformers names it.
    """

    location: Path
    pooling: str
    is_mean: bool
    normalize: bool
    max_tokens: int | None
    space: str
    needs_device: bool
    load: Callable[[str, Compute], Encoder]
    similarity: str = "cosine"


class Format(Protocol):
    """One format of model files.

    Attributes:
        options: names of its options.
        fallback: whether it reads every folder that no other format reads, and so is tried last.
    """

    options: ClassVar[tuple[str, ...]]
    fallback: ClassVar[bool]

    def reads(self, path: Path) -> bool:
        """Whether the folder or file appears to have this format."""

    def read(self, source: Source) -> ModelFiles:
        """Read the settings of the files.

        Raises:
            BadCheckpoint: a file is missing, altered or not supported, or the value of an option is unknown.
        """


def format_of(path: Path) -> Format:
    """Find the format of this folder or file.

    Raises:
        BadCheckpoint: it does not exist, or no format reads it.
    """
    if not path.exists():
        raise BadCheckpoint(f"no such file or folder: {path}")
    formats: list[Format] = [catalogue.find(FAMILY, name)() for name in catalogue.names(FAMILY)]
    for each in sorted(formats, key=lambda one: one.fallback):
        if each.reads(path):
            return each
    raise BadCheckpoint(
        f"{path} is no model: give a text file of word2vec, GloVe or fastText, a .npz, or the folder of a model"
    )


def require_known(options: Iterable[str], known: Iterable[str], path: Path) -> None:
    """Reject options that this model does not have.

    Raises:
        BadCheckpoint: names the first of them, and the options of the model.
    """
    known = sorted(set(known))
    for name in options:
        if name not in known:
            raise BadCheckpoint(f"{path} has no option {name!r}: choose one of {', '.join(known)}")


def positive_option(source: Source, option: str) -> int | None:
    """The number of an option, if it is given. Raises BadCheckpoint: it is not positive."""
    value = source.options.get(option)
    if value is not None and not (value.isdecimal() and int(value) > 0):
        raise BadCheckpoint(f"{option}={value} of {source.path} is not a positive number")
    return None if value is None else int(value)
