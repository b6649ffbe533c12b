"""Read the affine head that a model folder may have between network and pooling."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import file_sha256
from semblance.models.files.json_file import read_json

_IDENTITY = "torch.nn.modules.linear.Identity"
_TOKENS = "token_embeddings"


@dataclass(frozen=True, slots=True)
class TokenHead:
    """An affine map h -> W h + b of every token vector, without an activation, before pooling.

    A mean commutes with it, so the mean of the mapped tokens is the mapped mean. In the paper's code it is part of the
    encoder in training and inference, on every token, special ones included.

    Attributes:
        weights: file with `linear.weight` (out, in) and, with a bias, `linear.bias` (out,).
        in_features: d of the network.
        out_features: d of the mapped vectors.
        bias: whether there is a b.

    Source: lee-etal-2022-clrcmd, section 4.1 and its code.
    """

    weights: Path
    in_features: int
    out_features: int
    bias: bool

    @property
    def digest(self) -> str:
        """SHA-256 of its weights."""
        return file_sha256(self.weights)


def read_token_head(folder: Path) -> TokenHead:
    """Read a folder saved by the Dense module of sentence-transformers.

    Raises:
        BadCheckpoint: it is not an affine map of token vectors, or its files are missing.
    """
    config = read_json(folder / "config.json", dict)
    actual = {
        "activation_function": config.get("activation_function", "Tanh"),
        "module_input_name": config.get("module_input_name", "sentence_embedding"),
        "module_output_name": config.get("module_output_name") or config.get("module_input_name"),
        "use_residual": config.get("use_residual", False),
    }
    supported = {
        "activation_function": _IDENTITY,
        "module_input_name": _TOKENS,
        "module_output_name": _TOKENS,
        "use_residual": False,
    }
    if wrong := [name for name in supported if actual[name] != supported[name]]:
        raise BadCheckpoint(
            f"{folder} is a Dense module with {wrong[0]} {actual[wrong[0]]!r}, which is not supported: "
            f"only {supported[wrong[0]]!r} is"
        )
    weights = folder / "model.safetensors"
    if not weights.exists():
        raise BadCheckpoint(
            f"{folder} has no model.safetensors; other formats of weights can run code and are not read"
        )
    try:
        sizes = int(config["in_features"]), int(config["out_features"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadCheckpoint(f"{folder}/config.json must state in_features and out_features") from error
    return TokenHead(weights, *sizes, bias=bool(config.get("bias", True)))
