"""What the files of a model's folder may not lead to: code, whoever's it is, or files outside of the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from semblance.models.errors import BadCheckpoint
from semblance.models.files.json_file import read_json

_IMPLEMENTATIONS = ("attn_implementation", "experts_implementation")
_BUILT_IN = (None, "eager", "sdpa")
_SHARDS = "model.safetensors.index.json"


def require_no_code(network: Path) -> None:
    """Refuse a folder for which transformers would run code that came with it, or fetch some.

    An `auto_map` names classes in files beside it. An implementation that is not built in stands for a compiled kernel
    on a hub, which is downloaded wherever the package `kernels` is installed. Quantised weights are unpacked by
    libraries of their own.

    Raises:
        BadCheckpoint: naming the file and the entry.
    """
    for file in (network / "config.json", *network.glob("tokenizer_config.json")):
        for name, value in _entries(read_json(file, dict)):
            if name == "auto_map":
                raise BadCheckpoint(f"{file} wants to run code of its own (auto_map); that is never done here")
            if name.removeprefix("_") in _IMPLEMENTATIONS and value not in _BUILT_IN:
                raise BadCheckpoint(
                    f"{file} wants to compute by foreign code ({name} {value!r}); that is never done here: eager and "
                    "sdpa are built in"
                )
            if name == "quantization_config" and value:
                raise BadCheckpoint(f"{file} has quantised weights ({name}), which are not supported")


def require_own_shards(network: Path) -> None:
    """Refuse an index of weights that names files elsewhere.

    Raises:
        BadCheckpoint: naming the first of them.
    """
    index = network / _SHARDS
    shards = read_json(index, dict).get("weight_map", {}).values() if index.exists() else ()
    for shard in shards:
        if PurePath(str(shard)).name != shard:
            raise BadCheckpoint(f"{index} names {shard!r}: weights lie beside it, or are not read")


def inside(folder: Path, path: str) -> Path:
    """Where a path in a file of `folder` leads.

    Raises:
        BadCheckpoint: out of the folder.
    """
    if PurePath(path).is_absolute() or ".." in PurePath(path).parts:
        raise BadCheckpoint(f"{folder} names a module at {path!r}, which leads out of that folder: copy it into it")
    return folder / path


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of all objects in a JSON value, at any depth."""
    if isinstance(value, dict):
        yield from value.items()
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _entries(each)
