"""Reject model folders that reference code or paths outside the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from semblance.models.errors import BadCheckpoint
from semblance.models.files.four_bit import Q4_0
from semblance.models.files.json_file import read_json

_IMPLEMENTATIONS = ("attn_implementation", "experts_implementation")
_BUILT_IN = (None, "eager", "sdpa")  # implementations
_SHARD_INDEX = "model.safetensors.index.json"


def require_no_code(network: Path) -> None:
    """Reject a folder that would make transformers run code from the folder, or download code.

    An `auto_map` names classes in files beside it. An implementation that is not built in names a compiled kernel on a
    hub, which is downloaded if the package `kernels` is installed. Quantized weights of other kinds than ours are
    unpacked by third-party libraries.

    Raises:
        BadCheckpoint: names the file and the entry.
    """
    for file in (network / "config.json", *network.glob("tokenizer_config.json")):
        for name, value in _entries(read_json(file, dict)):
            if name == "auto_map":
                raise BadCheckpoint(f"{file} refers to code in the folder (auto_map), which is never run")
            if name.removeprefix("_") in _IMPLEMENTATIONS and value not in _BUILT_IN:
                raise BadCheckpoint(
                    f"{file} refers to third-party code ({name} {value!r}), which is never run: choose eager or sdpa"
                )
            if name == "quantization_config" and value not in (None, {}, Q4_0):
                raise BadCheckpoint(f"{file} has quantized weights ({name}), of which only {Q4_0} is supported")


def require_own_shards(network: Path) -> None:
    """Reject an index of weights that names files outside the folder, or files that are missing.

    Raises:
        BadCheckpoint: names the first of them.
    """
    index = network / _SHARD_INDEX
    shards = read_json(index, dict).get("weight_map", {}).values() if index.exists() else ()
    for shard in set(shards):
        if PurePath(str(shard)).name != shard:
            raise BadCheckpoint(f"{index} names {shard!r}: weights must lie in the same folder")
        if not (network / shard).exists():
            raise BadCheckpoint(f"{index} names {shard!r}, which is missing: copy the whole folder")


def resolve_inside(folder: Path, path: str) -> Path:
    """Resolve a relative path from a file of `folder`.

    Raises:
        BadCheckpoint: it leads outside the folder.
    """
    if PurePath(path).is_absolute() or ".." in PurePath(path).parts:
        raise BadCheckpoint(f"{folder} names a module at {path!r}, outside that folder: copy it into the folder")
    return folder / path


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Entries of all objects in a JSON value, at any depth."""
    if isinstance(value, dict):
        yield from value.items()
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _entries(each)
