"""Read the list of modules of a folder of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from semblance.models.embeddings import Floats, unit_rows
from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import file_sha256
from semblance.models.files.json_file import read_json, read_optional
from semblance.models.model_files.dense import TEXT, TOKENS, Dense, read_dense, read_fitting, require_maps
from semblance.models.model_files.untrusted import resolve_inside
from semblance.models.runtime import Pooling

_LEGACY_POOLINGS: Mapping[str, Pooling] = {  # in the order in which several are joined
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_BEFORE, _AFTER = ("Dense",), ("Dense", "LayerNorm", "Normalize")  # the pooling; Dropout has an effect in training only
_ROOT: Pooling = "mean_sqrt_len_tokens"
_NORM_EPSILON = 1e-5  # of torch


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """A layer x -> g (x - mean(x)) / sqrt(var(x) + 1e-5) + b of every row.

    Attributes:
        weights: file with `norm.weight` g (d,) and `norm.bias` b (d,).
        dimension: d.
    """

    weights: Path
    dimension: int

    affine = False

    @property
    def digest(self) -> str:
        """SHA-256 of its weights."""
        return file_sha256(self.weights)

    def load(self) -> Callable[[Floats], Floats]:
        """The layer as a function (n, d) -> (n, d). Raises BadCheckpoint."""
        shape = (self.dimension,)
        tensors = read_fitting(self.weights, {"norm.weight": shape, "norm.bias": shape})

        def layer(rows: Floats) -> Floats:
            centered = rows - rows.mean(axis=1, keepdims=True)
            scale = np.sqrt((centered**2).mean(axis=1, keepdims=True) + np.float32(_NORM_EPSILON))
            normal: Floats = tensors["norm.weight"] * centered / scale + tensors["norm.bias"]
            return normal

        return layer


@dataclass(frozen=True, slots=True)
class UnitLength:
    """A layer x -> x / |x| of every row, before others."""

    affine = False
    digest = "unit length"

    def load(self) -> Callable[[Floats], Floats]:
        """The layer as a function (n, d) -> (n, d)."""
        return lambda rows: unit_rows(rows).astype(np.float32)


Layer: TypeAlias = Dense | LayerNorm | UnitLength


@dataclass(frozen=True, slots=True)
class Modules:
    """The modules of a folder.

    Attributes:
        network: folder of the network.
        heads: layers of every token vector before the pooling.
        poolings: how the token vectors of a text become one vector; several are joined.
        include_prompt: whether the pooling includes prompt tokens.
        layers: layers of that vector.
        normalize: whether the result is normalized to unit length.
        listed: whether the folder has the list; a plain folder of Hugging Face is pooled by the mean.
    """

    network: Path
    heads: tuple[Dense, ...] = ()
    poolings: tuple[Pooling, ...] = ("mean",)
    include_prompt: bool = True
    layers: tuple[Layer, ...] = ()
    normalize: bool = False
    listed: bool = True

    @property
    def largest(self) -> bool:
        """Whether a text is pooled by the largest number of each dimension, and by nothing else."""
        return self.poolings == ("max",)

    @property
    def is_mean(self) -> bool:
        """Whether the vector of a text has the direction of the weighted mean of its token vectors."""
        [mode, *others] = self.poolings
        means = ("mean", "words", "weightedmean") if self.layers else ("mean", "words", "weightedmean", _ROOT)
        return not others and mode in means and all(layer.affine for layer in self.layers)

    def dim(self, hidden: int | None) -> int | None:
        """Dimension of the vector of a text, by that of the network; None if it is not known.

        Raises:
            BadCheckpoint: a layer does not fit those before it.
        """
        size = hidden
        for head in self.heads:
            size = _next_size(head, size, self.network)
        size = size and size * len(self.poolings)
        for layer in self.layers:
            size = _next_size(layer, size, self.network)
        return size


def _next_size(layer: Layer, size: int | None, folder: Path) -> int | None:
    match layer:
        case Dense():
            expected, after = layer.in_features, layer.out_features
        case LayerNorm():
            expected = after = layer.dimension
        case UnitLength():
            return size
    if size not in (None, expected):
        raise BadCheckpoint(f"{layer.weights.parent} maps {expected} dimensions, but it gets {size} in {folder}")
    return after


def read_modules(folder: Path) -> Modules:
    """Read modules.json and the folders that it lists.

    Raises:
        BadCheckpoint: a module, its place or a setting is not supported, or a file is missing or damaged.
    """
    listing = folder / "modules.json"
    if not listing.exists():
        return Modules(folder, listed=False)
    modules = [module for entry in read_json(listing, list) if (module := _module(listing, entry)).name != "Dropout"]
    names = [module.name for module in modules]
    if names[:1] != ["Transformer"] or names.count("Pooling") != 1:
        raise BadCheckpoint(f"{listing} must list a Transformer first, and one Pooling module")
    at = names.index("Pooling")
    _require_known(listing, names[1:at], _BEFORE, "before")
    _require_known(listing, names[at + 1 :], _AFTER, "after")
    end = len(names)
    while names[end - 1] == "Normalize":
        end -= 1
    pooling = read_json(modules[at].folder / "config.json", dict)
    return Modules(
        network=modules[0].folder,
        heads=tuple(read_dense(module.folder, TOKENS) for module in modules[1:at]),
        poolings=_poolings(pooling, folder),
        include_prompt=bool(pooling.get("include_prompt", True)),
        layers=tuple(_layer(module) for module in modules[at + 1 : end]),
        normalize=end < len(names),
    )


class _Module(NamedTuple):
    name: str
    folder: Path


def _module(listing: Path, entry: object) -> _Module:
    """An entry of the list, which may name no code of others. Raises BadCheckpoint."""
    if not isinstance(entry, dict):
        raise BadCheckpoint(f"{listing} has the entry {entry!r}, which is not a module")
    library, _, name = str(entry.get("type")).rpartition(".")
    if library.partition(".")[0] != "sentence_transformers":
        raise BadCheckpoint(f"{listing} has a module {entry.get('type')}, which is not one of sentence_transformers")
    module = _Module(name, resolve_inside(listing.parent, str(entry.get("path", ""))))
    if name == "Normalize":
        require_maps(read_optional(module.folder / "config.json"), TEXT, module.folder)
    return module


def _require_known(listing: Path, names: Sequence[str], known: Sequence[str], place: str) -> None:
    if unknown := [name for name in names if name not in known]:
        raise BadCheckpoint(
            f"{listing} has a module {unknown[0]} {place} its Pooling, which is not supported: there it may list "
            f"{', '.join(known)}"
        )


def _layer(module: _Module) -> Layer:
    """A module after the pooling. Raises BadCheckpoint."""
    match module.name:
        case "Dense":
            return read_dense(module.folder, TEXT)
        case "LayerNorm":
            dimension = read_json(module.folder / "config.json", dict).get("dimension")
            if not isinstance(dimension, int):
                raise BadCheckpoint(f"{module.folder}/config.json must state the dimension")
            norm = LayerNorm(module.folder / "model.safetensors", dimension)
            norm.load()  # so that a damaged file is found where the model is listed
            return norm
        case _:
            return UnitLength()


def _poolings(config: Mapping[str, Any], folder: Path) -> tuple[Pooling, ...]:
    """The modes of a Pooling module. Raises BadCheckpoint."""
    given = config.get("pooling_mode", [mode for name, mode in _LEGACY_POOLINGS.items() if config.get(name)] or "mean")
    modes = (given,) if isinstance(given, str) else tuple(given)
    if unknown := [mode for mode in modes if mode not in _LEGACY_POOLINGS.values()] or (not modes and ["nothing"]):
        raise BadCheckpoint(f"{folder} pools by {unknown[0]!r}; supported are {', '.join(get_args(Pooling))}")
    return cast("tuple[Pooling, ...]", modes)
