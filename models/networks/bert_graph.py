"""A network of BERT's kind as a graph of OpenVINO, made from its files without torch.

The graph takes packed texts, as that of `graph_export` does: only attention sees a padded grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.four_bit import FourBit
from semblance.models.files.json_file import read_json
from semblance.models.files.tensors import read_weights
from semblance.models.model_files.bert_families import (
    ENDS_DIFFERENTLY,
    WORD_TABLE,
    Family,
    family_of,
    is_plain_tokenizer,
)
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.graph_layers.bert import TYPE_TABLE, BertLayers
from semblance.models.networks.graph_layers.gte import GteLayers
from semblance.models.networks.graph_layers.modernbert import ModernBertLayers
from semblance.models.networks.graph_layers.packed import PackedLayers
from semblance.models.networks.lora_merge import merge
from semblance.models.runtime import NetworkFacts
from semblance.models.tokenization.subwords import serialize_tokenizer

VERSION = 2  # raise it when the graph changes


def has_graph(checkpoint: Checkpoint) -> bool:
    """Whether there is a `plain_tokenizer`. Raises BadCheckpoint."""
    return plain_tokenizer(checkpoint) is not None


def plain_tokenizer(checkpoint: Checkpoint) -> Tokenizer | None:
    """The tokenizer of a folder if the graph below, and `tokenizer.json`, are its model.

    Weights must be in one file.

    Raises:
        BadCheckpoint: a file cannot be read.
    """
    folder = checkpoint.folder
    family = family_of(read_json(folder / "config.json", dict))
    files = ("model.safetensors", "tokenizer.json", "tokenizer_config.json")
    if family is None or not all((folder / name).is_file() for name in files):
        return None
    tokenizer = _read_tokenizer(checkpoint)
    plain = is_plain_tokenizer(family, tokenizer, read_json(folder / "tokenizer_config.json", dict))
    return tokenizer if plain else None


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


def bert_graph(checkpoint: Checkpoint, tokenizer: Tokenizer | None = None) -> BertGraph:
    """Make the graph of a folder that `has_graph`, with merged adapter and appended head.

    It ends after the layer of the checkpoint; the weights of layers above are not in it.

    Args:
        checkpoint: the settings of the folder.
        tokenizer: its `plain_tokenizer`, if it was read before.

    Raises:
        BadCheckpoint: weights are missing or damaged, or have other shapes than config.json says; or the network cannot
            end earlier.
    """
    family, config = _family(checkpoint)
    if checkpoint.layer is not None:
        if family.layers == "modernbert":
            raise BadCheckpoint(f"a {config['model_type']} {ENDS_DIFFERENTLY}")
        config["num_hidden_layers"] = checkpoint.layer
    read, table = read_network(checkpoint)
    weights = {family.bert_name(name): tensor for name, tensor in read.items()}
    try:
        heads = checkpoint.modules.heads
        layers = _layers(family, weights, config, table)
        graph, positions = layers.graph(heads), layers.positions - family.first_position
        dim = heads[-1].out_features if heads else int(config["hidden_size"])
    except KeyError as error:
        raise BadCheckpoint(f"{checkpoint.folder} lacks weights or settings of its network, such as {error}") from error
    except (RuntimeError, ValueError) as error:  # of OpenVINO, if shapes do not fit
        raise BadCheckpoint(f"the weights in {checkpoint.folder} do not fit its config.json: {error}") from error
    tokenizer = tokenizer or _read_tokenizer(checkpoint)
    pad_id = _pad_id(checkpoint, tokenizer)
    tokenizer.no_padding()  # sooner than out of its JSON
    tokenizer.no_truncation()
    facts = NetworkFacts(
        dim=dim,
        max_tokens=min(checkpoint.max_tokens or positions, positions),
        pad_id=pad_id,
        first_position=family.first_position,
        tokenizer=serialize_tokenizer(tokenizer, checkpoint.lower_case),
        type_rows=_type_rows(checkpoint, family, weights, layers.positions),
    )
    return BertGraph(graph, facts)


def _layers(
    family: Family, weights: Mapping[str, Floats], config: Mapping[str, Any], table: FourBit | None
) -> PackedLayers:
    if family.layers == "bert":
        return BertLayers(weights, config, table)
    return GteLayers(weights, config) if family.layers == "gte" else ModernBertLayers(weights, config)


def _type_rows(checkpoint: Checkpoint, family: Family, weights: Mapping[str, Floats], positions: int) -> int:
    """Number of positions, before the rows of the second type; 0 if pairs have one type."""
    config = read_json(checkpoint.folder / "tokenizer_config.json", dict)
    return positions if family.types_pairs(config) and len(weights.get(TYPE_TABLE, ())) > 1 else 0


def _pad_id(checkpoint: Checkpoint, tokenizer: Tokenizer) -> int:
    """Id of the padding token: as its settings name it, or else of the tokenizer or network."""
    token = read_json(checkpoint.folder / "tokenizer_config.json", dict).get("pad_token")
    named = tokenizer.token_to_id(token["content"] if isinstance(token, dict) else token) if token else None
    padding = tokenizer.padding or read_json(checkpoint.folder / "config.json", dict)
    return int(padding.get("pad_id", padding.get("pad_token_id")) or 0) if named is None else named


def _family(checkpoint: Checkpoint) -> tuple[Family, dict[str, Any]]:
    """The family of a folder that `has_graph`, and its settings with the names of BERT."""
    config = read_json(checkpoint.folder / "config.json", dict)
    family = family_of(config)
    assert family is not None
    return family, family.bert_settings(config)


def read_network(checkpoint: Checkpoint) -> tuple[dict[str, Floats], FourBit | None]:
    """Weights by their names in transformers, without the prefix.

    The table of words is apart if it has four bits: most of its rows are never read.
    """
    family, _ = _family(checkpoint)
    read = read_weights(checkpoint.folder / "model.safetensors")
    table = read.blocks.pop(WORD_TABLE, None)
    weights = family.own_tensors(read.dequantized())
    if checkpoint.adapter is not None:
        matrices = {name.removesuffix(".weight"): weight for name, weight in weights.items() if _is_linear(name)}
        merge(checkpoint.adapter, matrices, family.prefix)
    return weights, table


def _is_linear(name: str) -> bool:
    """Whether a weight is the matrix of a linear layer."""
    others = ("embeddings.weight", "norm.weight", "relative_attention_bias.weight")
    return name.endswith(".weight") and not name.lower().endswith(others)
