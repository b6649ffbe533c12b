"""Read the folder of a transformer: modules, length, prompts, and the digest of its space.

Reads folders of sentence-transformers (`modules.json`) and plain Hugging Face ones. Weights must be safetensors. A
module or setting that would change vectors and is not supported here is rejected by name, never ignored. A low-rank
adapter has a separate folder and is named by an option.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.json_file import read_json, read_optional
from semblance.models.model_files.lora import CONFIG, LowRankAdapter
from semblance.models.model_files.modules import Modules, read_modules
from semblance.models.model_files.untrusted import require_no_code, require_own_shards
from semblance.models.runtime import Pooling
from semblance.models.text import Role

_PROMPT_NAMES: Mapping[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage")}
_DIGESTED = (  # files that decide what a vector means, in addition to the weights
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
)
_LAYER_COUNTS = ("num_hidden_layers", "n_layers", "num_layers")  # names in config.json, by kind of network
_SIZES = ("hidden_size", "dim", "d_model")  # likewise
_SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")  # for which sentence-transformers says a model is trained
_OTHER_HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")
_TO_SAFETENSORS = (
    "import sys; from sentence_transformers import SentenceTransformer as S; S(sys.argv[1]).save(sys.argv[2])"
)
_NO_LIMIT = 10**6  # tokenizers without a limit state one of about 10**30


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Settings of a transformer folder.

    Attributes:
        folder: folder of the network and its tokenizer.
        modules: what is behind the network, pooling among it.
        lower_case: whether texts are lower-cased before tokenization.
        max_tokens: maximum number of tokens of a text, special and prompt tokens included; None if only the network
            knows.
        prompts: prefix of a text in each role.
        space: digest of the files of network and tokenizer and of the settings above, in hexadecimal.
        adapter: adapter to merge into the network's weights, if one was given.
        layer: layer whose vectors are those of the tokens, counted from 1; None for the last one.
        truncate_dim: number of the first dimensions that are kept of every vector; None for all.
        similarity: how its vectors are compared, as sentence-transformers names it.
    """

    folder: Path
    modules: Modules
    lower_case: bool
    max_tokens: int | None
    prompts: Mapping[Role, str]
    space: str
    adapter: LowRankAdapter | None = None
    layer: int | None = None
    truncate_dim: int | None = None
    similarity: str = "cosine"


class Overrides(TypedDict, total=False):
    """Settings that replace those of a folder, unless they are None: see `Checkpoint`."""

    pooling: Pooling | None
    adapter: LowRankAdapter | None
    max_tokens: int | None
    layer: int | None
    truncate_dim: int | None


def read_checkpoint(folder: Path, weights_sha256: str | None = None, **given: Unpack[Overrides]) -> Checkpoint:
    """Read a model folder, and check its weights against a SHA-256 if one is given.

    Args:
        folder: the folder of the model.
        weights_sha256: expected SHA-256 of its weights.
        given: settings that replace those of the folder.

    Raises:
        BadCheckpoint: a file is missing, unreadable or altered, or a part of the model is not supported.
    """
    modules = read_modules(folder)
    pooling, max_tokens = given.get("pooling"), given.get("max_tokens")
    modules = modules if pooling is None else replace(modules, poolings=(pooling,))
    network = modules.network
    require_whole(network)
    weights = weights_of(network, weights_sha256)
    require_no_code(network)
    transformer = read_optional(network / "sentence_bert_config.json")
    whole = read_optional(folder / "config_sentence_transformers.json")
    config = read_json(network / "config.json", dict)
    _require_encoder(folder, config, modules.listed)
    positions = config.get("max_position_embeddings")
    if max_tokens and positions and max_tokens > positions:
        raise BadCheckpoint(f"max_tokens={max_tokens} of {folder} exceeds the {positions} positions of its network")
    dim = modules.dim(next((config[name] for name in _SIZES if name in config), None))
    checkpoint = Checkpoint(
        folder=network,
        modules=modules,
        lower_case=bool(transformer.get("do_lower_case", False)),
        max_tokens=max_tokens or _length(transformer, network) or tokenizer_limit(network),
        prompts=_prompts(whole, folder),
        space="",
        adapter=given.get("adapter"),
        layer=_inner_layer(given.get("layer"), config, folder),
        truncate_dim=_truncate_dim(given.get("truncate_dim") or whole.get("truncate_dim"), dim, folder),
        similarity=_similarity(whole, folder),
    )
    return replace(checkpoint, space=space_of(network, weights, _settings(checkpoint)))


def require_whole(network: Path) -> None:
    """Reject the folder of an adapter, and weights that lie elsewhere. Raises BadCheckpoint."""
    if (network / CONFIG).exists():  # if PEFT is installed, transformers would load the model that this file names
        raise BadCheckpoint(
            f"{network} holds an adapter ({CONFIG}), not a whole model: give the folder of the model as the source and "
            f"this one as its option, SOURCE?adapter={network}"
        )
    require_own_shards(network)


def _require_encoder(folder: Path, config: Mapping[str, Any], has_modules: bool) -> None:
    """Reject a network without vectors of texts.

    A folder with modules of sentence-transformers says itself that it has them.

    Raises:
        BadCheckpoint: the network is not named, writes text, scores pairs of texts or classifies.
    """
    if "model_type" not in config:
        raise BadCheckpoint(f"{folder} has a config.json without model_type: copy the whole folder")
    if config.get("is_encoder_decoder"):
        raise BadCheckpoint(f"{folder} is a {config.get('model_type')}, which reads and writes text: give an encoder")
    heads = [str(name) for name in config.get("architectures") or []]
    if not has_modules and (found := [name for name in heads if name.endswith(_OTHER_HEADS)]):
        raise BadCheckpoint(
            f"{folder} is a {found[0]}, which scores pairs of texts or classifies: its vectors were not trained for "
            "similarity or search; give an encoder, or name a cross-encoder of one label in SEMBLANCE_RERANK_MODELS"
        )


def _inner_layer(layer: int | None, config: Mapping[str, Any], folder: Path) -> int | None:
    """The layer, or None for the last one. Raises BadCheckpoint: the network does not have it."""
    layers = next((config[name] for name in _LAYER_COUNTS if name in config), None)
    if layer is None or layer == layers:
        return None
    if layers is None:
        raise BadCheckpoint(f"{folder}/config.json does not say how many layers there are: leave layer out")
    if not 1 <= layer < layers:
        raise BadCheckpoint(f"layer={layer} of {folder}: the network has the layers 1 to {layers}")
    return layer


def _truncate_dim(given: object, dim: int | None, folder: Path) -> int | None:
    """Number of dimensions that are kept; None for all. Raises BadCheckpoint."""
    if given is None or given == dim:
        return None
    if not isinstance(given, int) or given < 1 or (dim and given > dim):
        raise BadCheckpoint(f"truncate_dim={given} of {folder}: its vectors have {dim or 'fewer'} dimensions")
    return given


def _similarity(config: Mapping[str, Any], folder: Path) -> str:
    """Name of the comparison of vectors, by default cosine. Raises BadCheckpoint."""
    name = config.get("similarity_fn_name") or _SIMILARITIES[0]
    if name not in _SIMILARITIES:
        raise BadCheckpoint(
            f"{folder} has the similarity_fn_name {name!r}, which does not compare vectors of texts: choose one of "
            f"{', '.join(_SIMILARITIES)}"
        )
    return str(name)


def _prompts(config: Mapping[str, Any], folder: Path) -> dict[Role, str]:
    """The prompt of each role, or else the model's default prompt. Raises BadCheckpoint."""
    prompts, chosen = config.get("prompts") or {}, config.get("default_prompt_name")
    if not isinstance(prompts, dict) or not all(isinstance(each, str | None) for each in prompts.values()):
        raise BadCheckpoint(f"{folder} has prompts that are not texts by their names: {prompts!r}")
    if chosen and chosen not in prompts:
        raise BadCheckpoint(f"{folder} has the default_prompt_name {chosen!r}, which none of its prompts has")
    default = prompts.get(chosen) or ""
    return {
        role: next((prompts[name] for name in names if prompts.get(name)), default)
        for role, names in _PROMPT_NAMES.items()
    }


def _length(config: Mapping[str, Any], network: Path) -> int | None:
    """Most tokens of a text, if the folder says. Raises BadCheckpoint."""
    length = config.get("max_seq_length")
    if length is not None and (not isinstance(length, int) or length < 1):
        raise BadCheckpoint(f"{network} has the max_seq_length {length!r}, which is not a number of tokens")
    return length


def tokenizer_limit(folder: Path) -> int | None:
    """Most tokens of a text by its tokenizer; None for no limit. Raises BadCheckpoint."""
    limit = read_json(folder / "tokenizer_config.json", dict).get("model_max_length")
    return int(limit) if limit and limit < _NO_LIMIT else None


def weights_of(folder: Path, expected: str | None) -> list[tuple[str, str]]:
    """Name and SHA-256 of every file of weights. Raises BadCheckpoint."""
    if not folder.is_dir():
        raise BadCheckpoint(
            f"no such folder: {folder}; give the folder of a sentence-transformers or Hugging Face model"
        )
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        command = shlex.join(("python", "-c", _TO_SAFETENSORS, str(folder), f"{folder}-safetensors"))
        raise BadCheckpoint(
            f"{folder} has no *.safetensors file; other formats of weights can run code and are not read: if you trust "
            f"it, convert it by `{command}`"
        )
    weights = [(file.name, file_sha256(file)) for file in files]
    if expected is not None and weights != [("model.safetensors", expected)]:
        raise BadCheckpoint(
            f"{folder} holds weights {weights}, expected model.safetensors with SHA-256 {expected}: the file is "
            "damaged or was replaced; install it again"
        )
    return weights


def _settings(checkpoint: Checkpoint) -> dict[str, Any]:
    """Settings of the digest: another name for a key would change every space."""
    modules = checkpoint.modules
    settings = {
        "pooling": " + ".join(modules.poolings),
        "normalize": modules.normalize,
        "lower_case": checkpoint.lower_case,
        "max_tokens": checkpoint.max_tokens,
        "prompts": checkpoint.prompts,
        "include_prompt": modules.include_prompt,
    }
    heads = [head.digest for head in modules.heads]
    given = {  # no key if absent: keeps existing spaces
        "head": heads[0] if len(heads) == 1 else heads,
        "layers": [layer.digest for layer in modules.layers],
        "adapter": checkpoint.adapter and checkpoint.adapter.digest,
        "layer": checkpoint.layer,
        "truncate_dim": checkpoint.truncate_dim,
    }
    return settings | {name: value for name, value in given.items() if value}


def space_of(folder: Path, weights: list[tuple[str, str]], settings: Mapping[str, Any]) -> str:
    """Digest of weights, files and settings."""
    files = {name: file_sha256(folder / name) for name in _DIGESTED if (folder / name).exists()}
    return digest(weights=weights, files=files, settings=settings)
