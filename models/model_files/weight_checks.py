"""Checks of the weights of a folder where a model is listed, before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from semblance.models.errors import BadCheckpoint
from semblance.models.files.json_file import read_json
from semblance.models.files.tensors import Shape, require_finite, shapes_of
from semblance.models.model_files.bert_families import WORD_TABLE, family_of

_WORD_TABLES = {WORD_TABLE, "embeddings.tok_embeddings.weight"}


def require_sound_weights(folder: Path) -> None:
    """Reject weights that are missing, not finite, or do not fit settings and tokenizer.

    Of a network that is not of BERT's kind, only the numbers are checked here, and the rest when it is loaded.

    Raises:
        BadCheckpoint: names the first of them, or the setting that is missing.
    """
    files = sorted(folder.glob("*.safetensors"))
    config = read_json(folder / "config.json", dict)
    family = family_of(config)
    if family is not None:
        shapes = {
            family.bert_name(family.own_name(name)): each for file in files for name, each in shapes_of(file).items()
        }
        sizes = _Sizes(folder / "config.json", family.bert_settings(config))
        sizes.require_heads()
        if family.layers == "bert":  # and otherwise when it is loaded
            _require_fitting(folder, shapes, sizes)
        for table in shapes.keys() & _WORD_TABLES:
            _require_rows(folder, shapes[table][0])
    for file in files:
        require_finite(file)


def _require_fitting(folder: Path, shapes: Mapping[str, Shape], sizes: _Sizes) -> None:
    expected = dict(_expected(sizes))
    if absent := [name for name in expected if name not in shapes]:
        raise BadCheckpoint(f"{folder} lacks {len(absent)} weights of its network, such as {absent[0]}")
    if wrong := [name for name, shape in expected.items() if shapes[name] != shape]:
        raise BadCheckpoint(
            f"the weights in {folder} do not fit its config.json: {wrong[0]} has the shape {shapes[wrong[0]]}, not "
            f"{expected[wrong[0]]}"
        )


def _require_rows(folder: Path, rows: int) -> None:
    """Reject a tokenizer with ids beyond the table of words."""
    file = folder / "tokenizer.json"
    if not file.exists():  # said when it is loaded
        return
    tokenizer = read_json(file, dict)
    vocabulary = (tokenizer.get("model") or {}).get("vocab")
    if not vocabulary:
        raise BadCheckpoint(f"cannot load {file}: it has no vocabulary")
    ids = vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))
    last = max([*ids, *(token["id"] for token in tokenizer.get("added_tokens") or ())])
    if last >= rows:
        raise BadCheckpoint(
            f"{file} has ids up to {last}, and the table of words in {folder} only {rows} rows: they are not of "
            "one model"
        )


class _Sizes:
    """Settings of a network that are sizes."""

    def __init__(self, file: Path, config: Mapping[str, Any]) -> None:
        self._file, self._config = file, config

    def __getitem__(self, name: str) -> int:
        size = self._config.get(name)
        if not isinstance(size, int) or size < 1:
            raise BadCheckpoint(f"{self._file}: {name} must be a number of at least 1, not {size!r}")
        return size

    def get(self, name: str, default: int) -> int:
        return default if self._config.get(name) is None else self[name]

    def require_heads(self) -> None:
        """Raises BadCheckpoint: dimensions cannot be shared by the heads of attention."""
        dim, heads = self["hidden_size"], self["num_attention_heads"]
        if dim % heads:
            raise BadCheckpoint(f"{self._file}: {dim} dimensions cannot be shared by {heads} heads of attention")


def _expected(sizes: _Sizes) -> Iterator[tuple[str, Shape]]:
    """Name and shape of every weight, by the names and settings of BERT."""
    dim, inner = sizes["hidden_size"], sizes["intermediate_size"]
    width = sizes.get("embedding_size", dim)
    yield WORD_TABLE, (sizes["vocab_size"], width)
    yield "embeddings.position_embeddings.weight", (sizes["max_position_embeddings"], width)
    yield from _pair("embeddings.LayerNorm", (width,), width)
    if width != dim:
        yield from _pair("embeddings_project", (dim, width), dim)
    for i in range(sizes["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            yield from _pair(f"{layer}.attention.{part}", (dim, dim), dim)
        yield from _pair(f"{layer}.attention.output.LayerNorm", (dim,), dim)
        yield from _pair(f"{layer}.intermediate.dense", (inner, dim), inner)
        yield from _pair(f"{layer}.output.dense", (dim, inner), dim)
        yield from _pair(f"{layer}.output.LayerNorm", (dim,), dim)


def _pair(name: str, shape: Shape, bias: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", shape
    yield f"{name}.bias", (bias,)
