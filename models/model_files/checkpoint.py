"""A model folder on disk: what it says of pooling, length and prompts, and the digest of what it means.

Reads folders of sentence-transformers (`modules.json`) and plain Hugging Face ones. Weights must be safetensors; a
module or setting that would change vectors and is not supported here is refused by name, never ignored. Of Dense
modules one is supported: an affine map of every token vector that stands between the network and the pooling. A
low-rank adapter stands in a folder of its own and is asked for beside this one.
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
from semblance.models.model_files.untrusted import inside, require_no_code, require_own_shards
from semblance.models.runtime import Pooling
from semblance.models.text import Role

_LEGACY_POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
_PROMPT_NAMES: Mapping[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage")}
_MEANING = (  # files beside the weights that decide what a vector means
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
_IN_ORDER = ("Transformer", "Dense", "Pooling", "Normalize")  # the modules of sentence-transformers that are known
_NO_LIMIT = 10**6  # tokenizers without a limit of their own state one of about 10**30


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a transformer needs to know of its folder.

    Attributes:
        folder: where the files of the network and its tokenizer are.
        pooling: how token vectors become one vector.
        normalize: whether that vector is brought to unit length.
        lower_case: whether texts are lower-cased before the tokenizer sees them.
        max_tokens: most tokens a text may have, special and prompt tokens included; None where only the network says.
        prompts: what is put before a text in each role.
        include_prompt: whether prompt tokens take part in the mean.
        space: digest of the network's and the tokenizer's files and of the settings above, in hexadecimal.
        head: the affine map of token vectors before pooling, if there is one.
        adapter: what is merged into the network's weights, if that was asked for.
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


def read_checkpoint(
    folder: Path,
    weights_sha256: str | None = None,
    pooling: Pooling | None = None,
    adapter: LowRankAdapter | None = None,
) -> Checkpoint:
    """Read a model folder, and check its weights against a known SHA-256 if one is given.

    Args:
        folder: of the model.
        weights_sha256: what its weights must have.
        pooling: how to pool, whatever the folder says.
        adapter: what is merged into the network's weights when it is loaded.

    Raises:
        BadCheckpoint: a file is missing, unreadable or altered, or a part of the model is not supported.
    """
    modules = _modules(folder)
    network = modules.get("Transformer", folder)
    if (network / CONFIG).exists():  # where PEFT is installed, transformers would load whatever model this names
        raise BadCheckpoint(
            f"{network} holds an adapter ({CONFIG}), not a whole model: give the model's own folder as the source and "
            f"this one as its option, SOURCE?adapter={network}"
        )
    require_own_shards(network)
    weights = _weights(network)
    if weights_sha256 is not None and weights != [("model.safetensors", weights_sha256)]:
        raise BadCheckpoint(
            f"{network} holds weights {weights}, expected model.safetensors with SHA-256 {weights_sha256}: the file is "
            "damaged or was replaced; install it again"
        )
    require_no_code(network)
    transformer = _transformer_settings(network)
    pooling_config = read_json(modules["Pooling"] / "config.json", dict) if "Pooling" in modules else {}
    prompts = _prompts(folder)
    settings: dict[str, Any] = {
        "pooling": pooling or _pooling_mode(pooling_config, folder),
        "normalize": "Normalize" in modules,
        "lower_case": bool(transformer.get("do_lower_case", False)),
        "max_tokens": transformer.get("max_seq_length") or _tokenizer_limit(network),
        "prompts": prompts,
        "include_prompt": bool(pooling_config.get("include_prompt", True)),
    }
    head = read_token_head(modules["Dense"]) if "Dense" in modules else None
    parts = {"head": head, "adapter": adapter}
    digests = {name: part.digest for name, part in parts.items() if part}  # no key without: spaces in use stay
    space = _digest(network, weights, settings | digests)
    return Checkpoint(folder=network, space=space, head=head, adapter=adapter, **settings)


def _modules(folder: Path) -> dict[str, Path]:
    """Module name -> its folder, as modules.json lists them; empty for a plain Hugging Face folder."""
    listing = folder / "modules.json"
    if not listing.exists():
        return {}
    modules: dict[str, Path] = {}
    for entry in read_json(listing, list):
        library, _, name = str(entry.get("type")).rpartition(".")
        own = library.partition(".")[0] == "sentence_transformers"
        if not own or name not in _IN_ORDER or name in modules:
            raise BadCheckpoint(
                f"{listing} has a module {entry.get('type')}, which is not supported: one Transformer, one Dense, one "
                "Pooling and one Normalize of sentence_transformers are"
            )
        modules[name] = inside(folder, str(entry.get("path", "")))
    if not {"Transformer", "Pooling"} <= modules.keys():
        raise BadCheckpoint(f"{listing} must list a Transformer and a Pooling module")
    if list(modules) != sorted(modules, key=_IN_ORDER.index):
        raise BadCheckpoint(f"{listing} lists {', '.join(modules)}; only the order {', '.join(_IN_ORDER)} is supported")
    return modules


def _pooling_mode(config: Mapping[str, Any], folder: Path) -> Pooling:
    if not config:
        return "mean"
    modes = config.get("pooling_mode", [name for name, on in config.items() if name.startswith("pooling_mode_") and on])
    modes = [modes] if isinstance(modes, str) else list(modes)
    mode = _LEGACY_POOLING.get(modes[0], modes[0]) if len(modes) == 1 else " + ".join(modes)
    if mode not in get_args(Pooling):
        raise BadCheckpoint(f"{folder} pools by {mode!r}, which is not supported ({', '.join(get_args(Pooling))} are)")
    return cast("Pooling", mode)


def _transformer_settings(folder: Path) -> Mapping[str, Any]:
    path = folder / "sentence_bert_config.json"
    return read_json(path, dict) if path.exists() else {}


def _prompts(folder: Path) -> dict[Role, str]:
    """The prompt of each role: its own, or else the model's default one."""
    path = folder / "config_sentence_transformers.json"
    config = read_json(path, dict) if path.exists() else {}
    given: Mapping[str, str] = config.get("prompts") or {}
    default = given.get(config.get("default_prompt_name") or "", "")
    return {
        role: next((given[name] for name in wanted if given.get(name)), default)
        for role, wanted in _PROMPT_NAMES.items()
    }


def _tokenizer_limit(folder: Path) -> int | None:
    limit = read_json(folder / "tokenizer_config.json", dict).get("model_max_length")
    return int(limit) if limit and limit < _NO_LIMIT else None


def _weights(folder: Path) -> list[tuple[str, str]]:
    """(file name, SHA-256) of every weights file."""
    if not folder.is_dir():
        raise BadCheckpoint(
            f"{folder} is not a folder: give the folder of a sentence-transformers or Hugging Face model"
        )
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise BadCheckpoint(
            f"{folder} has no *.safetensors file; other formats of weights can run code and are not read"
        )
    return [(file.name, file_sha256(file)) for file in files]


def _digest(folder: Path, weights: list[tuple[str, str]], settings: Mapping[str, Any]) -> str:
    files = {name: file_sha256(folder / name) for name in _MEANING if (folder / name).exists()}
    return digest(weights=weights, files=files, settings=settings)
