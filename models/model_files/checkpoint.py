"""Read the folder of a transformer: pooling, length, prompts, and the digest of its space.

Reads folders of sentence-transformers (`modules.json`) and plain Hugging Face ones. Weights must be safetensors. A
module or setting that would change vectors and is not supported here is rejected by name, never ignored. Of Dense
modules, one is supported: an affine map of every token vector between the network and the pooling. A low-rank adapter
has a separate folder and is named by an option.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.json_file import read_json
from semblance.models.model_files.dense_head import TokenHead, read_token_head
from semblance.models.model_files.lora import CONFIG, LowRankAdapter
from semblance.models.model_files.untrusted import require_no_code, require_own_shards, resolve_inside
from semblance.models.runtime import Pooling
from semblance.models.text import Role

_LEGACY_POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
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
_MODULE_ORDER = ("Transformer", "Dense", "Pooling", "Normalize")  # supported modules of sentence-transformers
_OTHER_HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")
_TO_SAFETENSORS = "from sentence_transformers import SentenceTransformer as S; S('{0}').save('{0}-safetensors')"
_NO_LIMIT = 10**6  # tokenizers without a limit state one of about 10**30


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Settings of a transformer folder.

    Attributes:
        folder: folder of the network and its tokenizer.
        pooling: how token vectors become one vector; "words" is the mean without special and prompt tokens.
        normalize: whether that vector is normalized to unit length.
        lower_case: whether texts are lower-cased before tokenization.
        max_tokens: maximum number of tokens of a text, special and prompt tokens included; None if only the network
            knows.
        prompts: prefix of a text in each role.
        include_prompt: whether the mean includes prompt tokens.
        space: digest of the files of network and tokenizer and of the settings above, in hexadecimal.
        head: affine map of token vectors before pooling, if there is one.
        adapter: adapter to merge into the network's weights, if one was given.
        layer: layer whose vectors are those of the tokens, counted from 1; None for the last one.
    """

    folder: Path
    pooling: Pooling
    normalize: bool
    lower_case: bool
    max_tokens: int | None
    prompts: Mapping[Role, str]
    include_prompt: bool
    space: str
    head: TokenHead | None = None
    adapter: LowRankAdapter | None = None
    layer: int | None = None


def read_checkpoint(
    folder: Path,
    weights_sha256: str | None = None,
    pooling: Pooling | None = None,
    adapter: LowRankAdapter | None = None,
    max_tokens: int | None = None,
    layer: int | None = None,
) -> Checkpoint:
    """Read a model folder, and check its weights against a SHA-256 if one is given.

    Args:
        folder: the folder of the model.
        weights_sha256: expected SHA-256 of its weights.
        pooling: overrides the setting of the folder.
        adapter: adapter to merge into the network's weights when it is loaded.
        max_tokens: overrides the setting of the folder.
        layer: the network ends after this one of its layers, counted from 1.

    Raises:
        BadCheckpoint: a file is missing, unreadable or altered, or a part of the model is not supported.
    """
    modules = _modules(folder)
    network = modules.get("Transformer", folder)
    require_whole(network)
    weights = weights_of(network, weights_sha256)
    require_no_code(network)
    transformer = read_optional(network / "sentence_bert_config.json")
    pooling_config = read_json(modules["Pooling"] / "config.json", dict) if "Pooling" in modules else {}
    prompts = _prompts(folder)
    settings: dict[str, Any] = {  # these keys enter the digest: another name for one would change every space
        "pooling": pooling or _pooling_mode(pooling_config, folder),
        "normalize": "Normalize" in modules,
        "lower_case": bool(transformer.get("do_lower_case", False)),
        "max_tokens": max_tokens or transformer.get("max_seq_length") or tokenizer_limit(network),
        "prompts": prompts,
        "include_prompt": bool(pooling_config.get("include_prompt", True)),
    }
    config = read_json(network / "config.json", dict)
    _require_encoder(folder, config, bool(modules))
    positions = config.get("max_position_embeddings")
    if max_tokens and positions and max_tokens > positions:
        raise BadCheckpoint(f"max_tokens={max_tokens} of {folder} exceeds the {positions} positions of its network")
    layer = _inner_layer(layer, config, folder)
    head = read_token_head(modules["Dense"]) if "Dense" in modules else None
    parts = {"head": head and head.digest, "adapter": adapter and adapter.digest, "layer": layer}
    given = {name: part for name, part in parts.items() if part}  # no key if absent: keeps existing spaces
    space = space_of(network, weights, settings | given)
    return Checkpoint(folder=network, space=space, head=head, adapter=adapter, layer=layer, **settings)


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
        BadCheckpoint: the network writes text, scores pairs of texts or classifies.
    """
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


def _modules(folder: Path) -> dict[str, Path]:
    """Module name -> folder, in the order of modules.json; empty without that file."""
    listing = folder / "modules.json"
    if not listing.exists():
        return {}
    modules: dict[str, Path] = {}
    for entry in read_json(listing, list):
        library, _, name = str(entry.get("type")).rpartition(".")
        known_library = library.partition(".")[0] == "sentence_transformers"
        if not known_library or name not in _MODULE_ORDER or name in modules:
            raise BadCheckpoint(
                f"{listing} has a module {entry.get('type')}, which is not supported: it may list one Transformer, one "
                "Dense, one Pooling and one Normalize of sentence_transformers"
            )
        modules[name] = resolve_inside(folder, str(entry.get("path", "")))
    if not {"Transformer", "Pooling"} <= modules.keys():
        raise BadCheckpoint(f"{listing} must list a Transformer and a Pooling module")
    if list(modules) != sorted(modules, key=_MODULE_ORDER.index):
        raise BadCheckpoint(
            f"{listing} lists {', '.join(modules)}; only the order {', '.join(_MODULE_ORDER)} is supported"
        )
    return modules


def _pooling_mode(config: Mapping[str, Any], folder: Path) -> Pooling:
    if not config:
        return "mean"
    modes = config.get("pooling_mode", [name for name, on in config.items() if name.startswith("pooling_mode_") and on])
    modes = [modes] if isinstance(modes, str) else list(modes)
    mode = _LEGACY_POOLING.get(modes[0], modes[0]) if len(modes) == 1 else " + ".join(modes)
    if mode not in get_args(Pooling):
        raise BadCheckpoint(f"{folder} pools by {mode!r}; supported are {', '.join(get_args(Pooling))}")
    return cast("Pooling", mode)


def read_optional(path: Path) -> Mapping[str, Any]:
    """The object in a JSON file; empty without the file. Raises BadCheckpoint."""
    return read_json(path, dict) if path.exists() else {}


def _prompts(folder: Path) -> dict[Role, str]:
    """The prompt of each role, or else the model's default prompt."""
    config = read_optional(folder / "config_sentence_transformers.json")
    prompts: Mapping[str, str] = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    return {
        role: next((prompts[name] for name in names if prompts.get(name)), default)
        for role, names in _PROMPT_NAMES.items()
    }


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
        raise BadCheckpoint(
            f"{folder} has no *.safetensors file; other formats of weights can run code and are not read: if you trust "
            f'it, convert it by `python -c "{_TO_SAFETENSORS.format(folder)}"`'
        )
    weights = [(file.name, file_sha256(file)) for file in files]
    if expected is not None and weights != [("model.safetensors", expected)]:
        raise BadCheckpoint(
            f"{folder} holds weights {weights}, expected model.safetensors with SHA-256 {expected}: the file is "
            "damaged or was replaced; install it again"
        )
    return weights


def space_of(folder: Path, weights: list[tuple[str, str]], settings: Mapping[str, Any]) -> str:
    """Digest of weights, files and settings."""
    files = {name: file_sha256(folder / name) for name in _DIGESTED if (folder / name).exists()}
    return digest(weights=weights, files=files, settings=settings)
