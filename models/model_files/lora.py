"""Read a low-rank adapter of a network, in the format of the library PEFT."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.json_file import read_json

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"

_SUPPORTED = frozenset({"peft_type", "r", "lora_alpha", "use_rslora", "bias", "init_lora_weights"})
_IGNORED = frozenset(  # of training, of other adapters, or names of matrices, which the weights have as well
    {
        *("auto_mapping", "base_model_name_or_path", "inference_mode", "peft_version", "revision", "task_type"),
        *("exclude_modules", "layers_pattern", "layers_to_transform", "target_modules"),
        *("lora_dropout", "megatron_core", "qalora_group_size", "eva_config", "runtime_config"),
    }
)
_HARMLESS_INIT = (True, False, "gaussian", "orthogonal", "eva")  # others change the weights of the network as well


@dataclass(frozen=True, slots=True)
class LowRankAdapter:
    """Low-rank updates that are merged into weight matrices of a network: W + s B A.

    A is (r, in) and B (out, r) for W (out, in). The merged network is as fast as without an adapter.

    Attributes:
        weights: file with `lora_A.weight` and `lora_B.weight` of every matrix.
        rank: r.
        scale: s = alpha / r, or alpha / sqrt(r) for rsLoRA, which makes updates comparable across ranks.

    Source: hu-etal-2022-lora, section 4.1.
    """

    weights: Path
    rank: int
    scale: float

    @property
    def digest(self) -> str:
        """Digest of the weights and their scale."""
        return digest(weights=file_sha256(self.weights), scale=self.scale)


def read_low_rank_adapter(folder: Path, weights_sha256: str | None = None) -> LowRankAdapter:
    """Read a folder saved by PEFT, and check its weights against a SHA-256 if one is given.

    Raises:
        BadCheckpoint: a file is missing, unreadable or altered, or the adapter is not of the form W + s B A.
    """
    config = read_json(folder / CONFIG, dict)
    _require_supported(config, folder)
    weights = folder / WEIGHTS
    if not weights.exists():
        raise BadCheckpoint(f"{folder} has no {WEIGHTS}; other formats of weights can run code and are not read")
    if weights_sha256 is not None and file_sha256(weights) != weights_sha256:
        raise BadCheckpoint(
            f"{weights} does not have the SHA-256 {weights_sha256}: it is damaged or was replaced; install it again"
        )
    try:
        rank, alpha = int(config["r"]), float(config["lora_alpha"])
        scale = alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BadCheckpoint(f"{folder / CONFIG} must state r, a whole number above 0, and lora_alpha") from error
    return LowRankAdapter(weights, rank, scale)


def _require_supported(config: Mapping[str, Any], folder: Path) -> None:
    """Reject entries that change the result, or might: every unknown one."""
    rejected = {name: value for name, value in config.items() if value and name not in _SUPPORTED | _IGNORED}
    if config.get("peft_type") != "LORA":
        rejected = {"peft_type": config.get("peft_type")}
    if config.get("bias", "none") != "none":
        rejected["bias"] = config["bias"]
    if config.get("init_lora_weights", True) not in _HARMLESS_INIT:
        rejected["init_lora_weights"] = config["init_lora_weights"]
    for name, value in rejected.items():
        raise BadCheckpoint(
            f"{folder} is an adapter with {name} {value!r}, which is not supported: use plain LoRA or rsLoRA "
            "(peft_type 'LORA') with one rank and one alpha for all matrices"
        )
