"""Folders of Model2Vec: static vectors of subwords."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from semblance.models.encoders.word_vectors import VectorTable, table_model_files
from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.json_file import read_json
from semblance.models.model_files.source import ModelFiles, Source
from semblance.models.tokenization.words import Subwords

_DEFAULT_MAX_TOKENS = 512  # default of the library, also for folders older than the setting
_FILES = ("model.safetensors", "tokenizer.json")


class Model2VecFolder:
    """A folder with `model.safetensors` and `tokenizer.json`.

    The tensors are `embeddings`, in newer folders also `weights` and `mapping`.

    Source: tulkens-vandongen-2024-model2vec.
    """

    options: ClassVar[tuple[str, ...]] = ()
    fallback: ClassVar[bool] = False

    def reads(self, path: Path) -> bool:
        """A folder with `model_type` model2vec, or whose weights hold a tensor `embeddings`."""
        if not (path / "config.json").is_file():
            return False
        return read_json(path / "config.json", dict).get("model_type") == "model2vec" or "embeddings" in _tensors(path)

    def read(self, source: Source) -> ModelFiles:
        """Read the settings of the folder.

        Raises:
            BadCheckpoint: a file is missing, unreadable or altered.
        """
        folder = source.path
        config = read_json(folder / "config.json", dict)
        files = {name: file_sha256(folder / name) for name in _FILES}
        if source.weights_sha256 not in (None, files["model.safetensors"]):
            raise BadCheckpoint(f"{folder}: model.safetensors is not the one with SHA-256 {source.weights_sha256}")
        if "embeddings" not in _tensors(folder):
            raise BadCheckpoint(f"{folder}: model.safetensors has no tensor `embeddings`")
        settings: dict[str, Any] = {
            "normalize": bool(config.get("normalize", False)),
            "max_tokens": int(config.get("max_length") or _DEFAULT_MAX_TOKENS),
        }
        space = digest(kind="model2vec", files=files, settings=settings)
        return table_model_files(folder, space, partial(_load, folder), **settings)


def _load(folder: Path) -> tuple[VectorTable, Subwords]:
    try:
        with safe_open(folder / "model.safetensors", framework="numpy") as tensors:
            arrays: dict[str, np.ndarray] = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # both libraries raise plain Exception; NumPy lacks some number types of torch
        raise BadCheckpoint(f"cannot load {folder}: {error}") from error
    table = VectorTable(arrays["embeddings"], arrays.get("mapping"), arrays.get("weights"))
    _require_shapes(table, folder)
    size = len(table.vectors) if table.rows is None else len(table.rows)
    last = max(tokenizer.get_vocab().values(), default=-1)
    if last >= size or (table.scales is not None and last >= len(table.scales)):
        raise BadCheckpoint(f"{folder}: its tokenizer has token {last}, but there are only {size:,} vectors")
    if table.rows is not None and not 0 <= table.rows.min() <= table.rows.max() < len(table.vectors):
        raise BadCheckpoint(f"{folder}: `mapping` names rows that do not exist")
    return table, Subwords(tokenizer)


def _require_shapes(table: VectorTable, folder: Path) -> None:
    """Raise BadCheckpoint if a tensor has another shape or number type than Model2Vec writes."""
    if table.vectors.ndim != 2:
        raise BadCheckpoint(f"{folder}: `embeddings` has {table.vectors.ndim} dimensions, not 2")
    if table.rows is not None and (table.rows.ndim != 1 or table.rows.dtype.kind not in "iu"):
        raise BadCheckpoint(f"{folder}: `mapping` must be one row of whole numbers")
    if table.scales is not None and (table.scales.ndim != 1 or not np.isfinite(table.scales).all()):
        raise BadCheckpoint(f"{folder}: `weights` must be one row of finite numbers")
    if table.scales is not None and (table.scales < 0).any():
        raise BadCheckpoint(f"{folder}: `weights` holds a number below 0")


def _tensors(folder: Path) -> list[str]:
    """Names in the header of the weights; none if the file cannot be read."""
    try:
        with safe_open(folder / "model.safetensors", framework="numpy") as tensors:
            return list(tensors.keys())
    except (OSError, SafetensorError):
        return []
