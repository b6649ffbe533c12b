"""Read the folder of a cross-encoder.

Its network reads a query and a text together, and has a head of one label. The score is that of `CrossEncoder.predict`
in sentence-transformers. A setting that would change it and is not supported here is rejected by name, never ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.json_file import read_json, read_optional
from semblance.models.files.tensors import Shape, read_tensors, shapes_of
from semblance.models.model_files.checkpoint import (
    Checkpoint,
    require_whole,
    space_of,
    tokenizer_limit,
    weights_of,
)
from semblance.models.model_files.modules import Modules
from semblance.models.model_files.source import Source, positive_option, require_known
from semblance.models.model_files.untrusted import require_no_code, resolve_inside
from semblance.models.model_files.weight_checks import require_sound_weights

OPTIONS = ("max_tokens",)
_CLASSIFIER = "ForSequenceClassification"
_SAVED = ("transformer_task", "modality_config", "module_output_name", "max_seq_length", "do_lower_case")


@dataclass(frozen=True, slots=True)
class Head:
    """The layers between the vector of the first token and the score: v f(W h + b) + c.

    Attributes:
        dense: name of W and b.
        activation: name of f in `ACTIVATIONS` of dense.py.
        output: name of v and c.
    """

    dense: str
    activation: str
    output: str

    def shapes(self, dim: int) -> dict[str, Shape]:
        """Shapes of its weights by name."""
        dense: dict[str, Shape] = {f"{self.dense}.weight": (dim, dim), f"{self.dense}.bias": (dim,)}
        return dense | {f"{self.output}.weight": (1, dim), f"{self.output}.bias": (1,)}


_ROBERTA = Head("classifier.dense", "Tanh", "classifier.out_proj")
_HEADS: Mapping[str, Head] = {  # by `model_type` of config.json
    "bert": Head("bert.pooler.dense", "Tanh", "classifier"),
    "camembert": _ROBERTA,
    "distilbert": Head("pre_classifier", "ReLU", "classifier"),
    "electra": Head("classifier.dense", "GELU", "classifier.out_proj"),
    "mpnet": _ROBERTA,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
}


@dataclass(frozen=True, slots=True)
class CrossEncoderFiles:
    """Settings of the folder of a cross-encoder.

    Attributes:
        network: the network below the head.
        head: names of the weights of the head.
        sigmoid: whether the score is mapped to (0, 1) by a sigmoid.
        needs_device: as of `ModelFiles`.
    """

    needs_device: ClassVar[bool] = True

    network: Checkpoint
    head: Head
    sigmoid: bool

    def head_weights(self) -> dict[str, Floats]:
        """W, b, v and c by their names. Raises BadCheckpoint."""
        names, files = self.head.shapes(0), sorted(self.network.folder.glob("*.safetensors"))
        return {name: tensor for file in files for name, tensor in read_tensors(file).items() if name in names}


def read_cross_encoder(source: Source) -> CrossEncoderFiles:
    """Read the folder of a cross-encoder.

    Raises:
        BadCheckpoint: a file is missing, unreadable or not supported, or it is not a cross-encoder of one label.
    """
    require_known(source.options, OPTIONS, source.path)
    saved = _saved_settings(source.path)
    network = source.path if saved is None else resolve_inside(source.path, _module(source.path))
    require_whole(network)
    weights = weights_of(network, source.weights_sha256)
    require_no_code(network)
    if not (network / "tokenizer.json").is_file():
        raise BadCheckpoint(f"{network} has no tokenizer.json: save its tokenizer by transformers, which writes it")
    config = read_json(network / "config.json", dict)
    head = _head(config, network)
    require_sound_weights(network)
    sigmoid = _has_sigmoid(saved or {}, config, network)
    own = {} if saved is None else _transformer_settings(network)
    settings: dict[str, Any] = {
        "lower_case": bool(own.get("do_lower_case", False)),
        "max_tokens": positive_option(source, "max_tokens") or own.get("max_seq_length") or tokenizer_limit(network),
    }
    checkpoint = Checkpoint(
        folder=network,
        modules=Modules(network, poolings=("cls",)),
        prompts={"query": "", "document": ""},
        space=space_of(network, weights, settings | {"kind": "cross-encoder", "sigmoid": sigmoid}),
        **settings,
    )
    return CrossEncoderFiles(checkpoint, head, sigmoid)


def _saved_settings(folder: Path) -> Mapping[str, Any] | None:
    """Settings that sentence-transformers saved; None if it did not save the folder.

    Raises BadCheckpoint.
    """
    if not (folder / "modules.json").exists():
        return None
    saved = read_optional(folder / "config_sentence_transformers.json")
    if saved.get("model_type") != "CrossEncoder":
        raise BadCheckpoint(
            f"{folder} is a {saved.get('model_type', 'SentenceTransformer')}, not a CrossEncoder: name it in "
            "SEMBLANCE_MODELS, or give the folder of a cross-encoder"
        )
    prompt = (saved.get("prompts") or {}).get(saved.get("default_prompt_name") or "")
    if prompt:
        raise BadCheckpoint(f"{folder} has a default prompt ({prompt!r}), which is not supported for pairs of texts")
    return saved


def _module(folder: Path) -> str:
    """Path of the only module. Raises BadCheckpoint: there are others."""
    modules = read_json(folder / "modules.json", list)
    names = [str(module.get("type")) for module in modules]
    if len(names) != 1 or not (names[0].startswith("sentence_transformers.") and names[0].endswith(".Transformer")):
        raise BadCheckpoint(
            f"{folder}/modules.json lists {', '.join(names)}; of a cross-encoder, only one Transformer is supported"
        )
    return str(modules[0].get("path", ""))


def _transformer_settings(network: Path) -> Mapping[str, Any]:
    """The settings of the module. Raises BadCheckpoint: one is not supported."""
    settings = read_optional(network / "sentence_bert_config.json")
    if others := [name for name, value in settings.items() if value and name not in _SAVED]:
        raise BadCheckpoint(f"{network}/sentence_bert_config.json has {others[0]}, which is not supported")
    return settings


def _head(config: Mapping[str, Any], folder: Path) -> Head:
    """The head of a network. Raises BadCheckpoint: it is not supported, or has other weights."""
    kinds = [str(name) for name in config.get("architectures") or []]
    if not kinds or not kinds[0].endswith(_CLASSIFIER):
        raise BadCheckpoint(
            f"{folder} is a {kinds[0] if kinds else 'network without a head'}, not a cross-encoder: give the folder of "
            f"a ...{_CLASSIFIER} with one label"
        )
    labels = len(config["id2label"]) if "id2label" in config else int(config.get("num_labels", 2))
    if labels != 1:
        raise BadCheckpoint(f"{folder} classifies by {labels} labels: a cross-encoder that ranks has one")
    head = _HEADS.get(str(config.get("model_type")))
    if head is None:
        raise BadCheckpoint(
            f"{folder} is a {config.get('model_type')}, whose head is not supported: choose one of {', '.join(_HEADS)}"
        )
    expected = head.shapes(int(config.get("dim") or config.get("hidden_size") or 0))
    shapes = {name: shape for file in folder.glob("*.safetensors") for name, shape in shapes_of(file).items()}
    if wrong := [name for name in expected if shapes.get(name) != expected[name]]:
        raise BadCheckpoint(
            f"{folder} has no head that fits its config.json: {wrong[0]} has the shape {shapes.get(wrong[0])} in place "
            f"of {expected[wrong[0]]}"
        )
    return head


def _has_sigmoid(saved: Mapping[str, Any], config: Mapping[str, Any], folder: Path) -> bool:
    """Whether the activation of the score is a sigmoid.

    That is the default of sentence-transformers for one label. As there, functions that are not torch's are not run,
    and leave the default.

    Raises:
        BadCheckpoint: it is another function of torch.
    """
    own: Mapping[str, Any] = config.get("sentence_transformers") or {}
    listed = own["activation_fn"] if "activation_fn" in own else config.get("sbert_ce_default_activation_function")
    named = [str(name) for name in (saved.get("activation_fn"), listed) if str(name).startswith("torch.")]
    function = named[0].rpartition(".")[2] if named else "Sigmoid"
    if function not in ("Sigmoid", "Identity"):
        raise BadCheckpoint(f"{folder} has the activation {named[0]}, which is not supported: only Sigmoid, Identity")
    return function == "Sigmoid"
