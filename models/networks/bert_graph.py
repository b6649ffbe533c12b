"""A network of BERT's kind as a graph of OpenVINO, made from its files without torch.

The graph takes packed texts, as that of `graph_export` does: only attention sees a padded grid.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.four_bit import OFFSET, FourBit
from semblance.models.files.json_file import read_json
from semblance.models.files.tensors import read_tensors, read_weights
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.model_files.dense_head import TokenHead
from semblance.models.networks.bert_families import Family, family_of, is_plain_tokenizer
from semblance.models.networks.lora_merge import merge
from semblance.models.networks.shape_buckets import GraphInputs
from semblance.models.runtime import NetworkFacts
from semblance.models.tokenization.subwords import serialize_tokenizer

VERSION = 2  # raise it when the graph changes
WORD_TABLE = "embeddings.word_embeddings.weight"
_OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
_RELATIVE = "encoder.relative_attention_bias.weight"  # of MPNet: (buckets, heads)
_UNSEEN = -1e9  # added to the product of tokens of which one is padding
_FARTHEST = 128  # MPNet does not tell positions apart that are this far away


def import_openvino() -> Any:
    """Import OpenVINO with telemetry disabled."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # its import fails, which OpenVINO expects
    import openvino  # noqa: PLC0415 - not installed everywhere

    return openvino


def has_graph(checkpoint: Checkpoint) -> bool:
    """Whether the graph below, and `tokenizer.json`, are the model of a folder.

    Weights must be in one file.

    Raises:
        BadCheckpoint: a file cannot be read.
    """
    folder = checkpoint.folder
    family = family_of(read_json(folder / "config.json", dict))
    files = ("model.safetensors", "tokenizer.json", "tokenizer_config.json")
    if family is None or not all((folder / name).is_file() for name in files):
        return False
    return is_plain_tokenizer(family, _read_tokenizer(checkpoint), read_json(folder / "tokenizer_config.json", dict))


def _read_tokenizer(checkpoint: Checkpoint) -> Tokenizer:
    file = checkpoint.folder / "tokenizer.json"
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises plain Exception
        raise BadCheckpoint(f"cannot load {file}: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class BertGraph:
    """A graph from `GraphInputs` to (T, d) token vectors, and its facts."""

    graph: Any
    facts: NetworkFacts


def bert_graph(checkpoint: Checkpoint) -> BertGraph:
    """Make the graph of a folder that `has_graph`, with merged adapter and appended head.

    It ends after the layer of the checkpoint; the weights of layers above are not in it.

    Raises:
        BadCheckpoint: weights are missing or damaged, or have other shapes than config.json says.
    """
    family, config = _family(checkpoint)
    if checkpoint.layer is not None:
        config["num_hidden_layers"] = checkpoint.layer
    read, table = read_network(checkpoint)
    weights = {family.bert_name(name): tensor for name, tensor in read.items()}
    try:
        graph = _Layers(weights, config, table).graph()
        positions = len(weights["embeddings.position_embeddings.weight"]) - family.first_position
        dim = len(weights["head.weight"]) if "head.weight" in weights else int(config["hidden_size"])
    except KeyError as error:
        raise BadCheckpoint(f"{checkpoint.folder} lacks weights or settings of its network, such as {error}") from error
    except (RuntimeError, ValueError) as error:  # of OpenVINO, if shapes do not fit
        raise BadCheckpoint(f"the weights in {checkpoint.folder} do not fit its config.json: {error}") from error
    tokenizer = _read_tokenizer(checkpoint)
    padding = read_json(checkpoint.folder / "tokenizer_config.json", dict).get("pad_token", "[PAD]")
    padding = padding.get("content") if isinstance(padding, dict) else padding
    facts = NetworkFacts(
        dim=dim,
        max_tokens=min(checkpoint.max_tokens or positions, positions),
        pad_id=tokenizer.token_to_id(str(padding)) or 0,
        first_position=family.first_position,
        tokenizer=serialize_tokenizer(tokenizer, checkpoint.lower_case),
    )
    return BertGraph(graph, facts)


def _family(checkpoint: Checkpoint) -> tuple[Family, dict[str, Any]]:
    """The family of a folder that `has_graph`, and its settings with the names of BERT."""
    config = read_json(checkpoint.folder / "config.json", dict)
    family = family_of(config)
    assert family is not None
    return family, family.bert_settings(config)


def read_network(checkpoint: Checkpoint) -> tuple[dict[str, Floats], FourBit | None]:
    """Weights by their names in transformers, without the prefix.

    Those of the appended head are `head.*`. The table of words is apart if it has four bits: most of its rows are never
    read.
    """
    family, _ = _family(checkpoint)
    read = read_weights(checkpoint.folder / "model.safetensors")
    table = read.blocks.pop(WORD_TABLE, None)
    weights: dict[str, Floats] = {}
    for name, tensor in read.dequantized().items():
        own = name.removeprefix(f"{family.prefix}.")
        for old, new in _OLD_NAMES.items():
            own = own.replace(old, new)
        weights[own] = tensor
    if checkpoint.adapter is not None:
        matrices = {name.removesuffix(".weight"): weight for name, weight in weights.items() if _is_linear(name)}
        merge(checkpoint.adapter, matrices, family.prefix)
    if checkpoint.head is not None:
        weights |= {f"head.{name}": each for name, each in _read_head(checkpoint.head).items()}
    return weights, table


def _read_head(head: TokenHead) -> dict[str, Floats]:
    """Its `weight` and, with a bias, `bias`."""
    weights = {name.removeprefix("linear."): tensor for name, tensor in read_tensors(head.weights).items()}
    expected = {"weight": (head.out_features, head.in_features)} | ({"bias": (head.out_features,)} if head.bias else {})
    if (shapes := {name: weight.shape for name, weight in weights.items()}) != expected:
        raise BadCheckpoint(f"cannot load {head.weights}: its shapes are {shapes}, config.json says {expected}")
    return weights


def _is_linear(name: str) -> bool:
    """Whether a weight is the matrix of a linear layer."""
    others = ("embeddings.weight", "LayerNorm.weight", "layer_norm.weight", "relative_attention_bias.weight")
    return name.endswith(".weight") and not name.endswith(others)


def _buckets(distances: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """The bucket of each distance, as in MPNet: half a side, far ones in logarithmic steps."""
    half = buckets // 2
    exact, far = half // 2, np.abs(distances)
    steps = np.log(np.maximum(far, 1) / exact) / np.log(_FARTHEST / exact) * (half - exact)
    beyond = np.minimum(exact + steps.astype(np.int64), half - 1)
    found: NDArray[np.int64] = np.where(far < exact, far, beyond) + half * (distances > 0)
    return found


class _Layers:
    """The layers of a network of BERT's kind as nodes of OpenVINO.

    Args:
        weights: by name.
        config: that of the folder.
        table: that of the words, if it has four bits.

    Raises:
        KeyError: a weight or a setting is missing.
    """

    def __init__(self, weights: Mapping[str, Floats], config: Mapping[str, Any], table: FourBit | None) -> None:
        self._table = table
        self._openvino = import_openvino()
        self._op = self._openvino.opset13
        self._weights = weights
        self._dim, self._heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        self._layers, self._epsilon = int(config["num_hidden_layers"]), float(config.get("layer_norm_eps", 1e-12))

    def graph(self) -> Any:
        """The whole network: embeddings, layers, and the head if there is one."""
        op = self._op
        ids, positions, places = (op.parameter([-1], np.int64, name) for name in ("ids", "positions", "places"))
        tokens, real = op.parameter([-1, -1], np.int64, "tokens"), op.parameter([-1, -1], np.bool_, "real")
        seen = op.unsqueeze(real, self._integers(1, 2))  # (b, 1, 1, l)
        if _RELATIVE in self._weights:
            seen = op.select(seen, self._distances(real), op.constant(np.float32(_UNSEEN)))
        hidden = self._embeddings(ids, positions)
        for i in range(self._layers):
            layer = f"encoder.layer.{i}"
            attended = self._attention(hidden, tokens, places, seen, f"{layer}.attention.self")
            hidden = self._add_norm(hidden, attended, f"{layer}.attention.output")
            inner = op.gelu(self._linear(hidden, f"{layer}.intermediate.dense"), "ERF")
            hidden = self._add_norm(hidden, inner, f"{layer}.output")
        if "head.weight" in self._weights:
            hidden = self._linear(hidden, "head")
        inputs = GraphInputs(ids, positions, tokens, real, places)
        return self._openvino.Model([op.result(hidden)], list(inputs), "bert")

    def _embeddings(self, ids: Any, positions: Any) -> Any:
        """(T,) -> (T, d): all tokens are of type 0, the first text of a pair."""
        weights = self._weights
        places = weights["embeddings.position_embeddings.weight"]
        types = weights.get("embeddings.token_type_embeddings.weight")
        if types is not None:
            places = places + types[0]
        table = self._table
        words = self._words(table, ids) if table else self._rows(self._numbers(weights[WORD_TABLE]), ids)
        summed = self._op.add(words, self._rows(self._numbers(places), positions))
        normal = self._norm(summed, "embeddings.LayerNorm")
        return self._linear(normal, "embeddings_project") if "embeddings_project.weight" in weights else normal

    def _distances(self, real: Any) -> Any:
        """(b, l) -> (1, h, l, l): what MPNet adds to products of tokens, by how far apart they are."""
        op = self._op
        zero, one = op.constant(np.int64(0)), op.constant(np.int64(1))
        places = op.range(zero, op.gather(op.shape_of(real), one, zero), one, "i64")
        apart = op.subtract(op.unsqueeze(places, self._integers(0)), op.unsqueeze(places, self._integers(1)))
        rows = op.add(op.clamp(apart, -_FARTHEST, _FARTHEST), op.constant(np.int64(_FARTHEST)))
        buckets = _buckets(np.arange(-_FARTHEST, _FARTHEST + 1), len(self._weights[_RELATIVE]))
        table = self._numbers(np.ascontiguousarray(self._weights[_RELATIVE][buckets]))
        return op.unsqueeze(op.transpose(self._rows(table, rows), self._integers(2, 0, 1)), self._integers(0))

    def _words(self, table: FourBit, ids: Any) -> Any:
        """Rows of the table of words (T, d), of which only these are made float32."""
        op = self._op
        halves = self._rows(self._numbers(table.halves), ids)  # (T, d / 32, 16)
        low = op.convert(op.bitwise_and(halves, op.constant(np.uint8(15))), "f32")
        high = op.divide(op.subtract(op.convert(halves, "f32"), low), op.constant(np.float32(16)))
        scales = op.unsqueeze(op.convert(self._rows(self._numbers(table.scales), ids), "f32"), self._integers(2))
        numbers = op.multiply(op.subtract(op.concat([low, high], 2), op.constant(np.float32(OFFSET))), scales)
        return op.reshape(numbers, self._integers(-1, self._dim), False)

    def _attention(self, hidden: Any, tokens: Any, places: Any, seen: Any, name: str) -> Any:
        """(T, d) -> (T, d): each token attends to those of its text."""
        op, swap = self._op, self._integers(0, 2, 1, 3)
        split = self._integers(0, 0, self._heads, self._dim // self._heads)
        query, key, value = (
            op.transpose(op.reshape(self._rows(self._linear(hidden, f"{name}.{part}"), tokens), split, True), swap)
            for part in ("query", "key", "value")
        )  # (b, h, l, d / h)
        attended = op.transpose(op.scaled_dot_product_attention(query, key, value, seen), swap)
        return self._rows(op.reshape(attended, self._integers(-1, self._dim), False), places)

    def _add_norm(self, hidden: Any, change: Any, name: str) -> Any:
        added = self._op.add(hidden, self._linear(change, f"{name}.dense"))
        return self._norm(added, f"{name}.LayerNorm")

    def _linear(self, x: Any, name: str) -> Any:
        """X W^T + b."""
        product = self._op.matmul(x, self._numbers(self._weights[f"{name}.weight"]), False, True)
        if name == "head" and "head.bias" not in self._weights:
            return product
        return self._op.add(product, self._numbers(self._weights[f"{name}.bias"][None]))

    def _norm(self, x: Any, name: str) -> Any:
        op, weights = self._op, self._weights
        normal = op.mvn(x, self._integers(-1), True, self._epsilon, "inside_sqrt")
        scaled = op.multiply(normal, self._numbers(weights[f"{name}.weight"][None]))
        return op.add(scaled, self._numbers(weights[f"{name}.bias"][None]))

    def _rows(self, table: Any, indices: Any) -> Any:
        """Rows of a table (r, d), in the shape of the indices."""
        return self._op.gather(table, indices, self._op.constant(np.int64(0)))

    def _numbers(self, weights: NDArray[Any]) -> Any:
        """Weights as they lie in memory, not copied: the node keeps the array."""
        return self._op.constant(weights, shared_memory=True)

    def _integers(self, *values: int) -> Any:
        return self._op.constant(np.array(values, np.int64))
