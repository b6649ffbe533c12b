"""Networks of BERT's kind, by the names of their weights; ModernBERT, GTE and Nomic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from semblance.models.embeddings import Floats
from semblance.models.files.four_bit import Q4_0

WORD_TABLE = "embeddings.word_embeddings.weight"
_OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
ENDS_DIFFERENTLY = "changes the vectors behind its last layer, as earlier ones are not: leave layer out"
_GENERIC = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that read tokenizer.json as it is
_PLAIN: Mapping[str, tuple[object, ...]] = {  # settings under which the layers are BERT's; the first is the default
    "hidden_act": ("gelu",),
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "quantization_config": (None, Q4_0),
}


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of network.

    Attributes:
        prefix: of its weights under a head.
        tokenizers: classes of its tokenizer, all of which make the same from the same files.
        files: parts of the names of weights in files -> those in transformers, replaced in this order.
        joined: the end of the name of a layer in files -> its parts in transformers, in the order of its rows.
        weights: parts of the names in transformers -> those of BERT, likewise.
        settings: settings of BERT -> its names for them.
        padding: id of the padding token, behind which its positions are counted; None if they are counted from 0.
        plain: settings under which its layers are the known ones, likewise, besides those of all.
        layers: the network whose layers it has.
    """

    prefix: str
    tokenizers: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    padding: int | None = None
    plain: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    layers: Literal["bert", "modernbert", "gte"] = "bert"

    def types_pairs(self, tokenizer_config: Mapping[str, Any]) -> bool:
        """Whether its tokenizer tells the types of tokens, as in transformers."""
        default = ["token_type_ids"] if tokenizer_config.get("tokenizer_class", self.tokenizers[0]) in _TYPED else []
        return "token_type_ids" in tokenizer_config.get("model_input_names", default)

    @property
    def first_position(self) -> int:
        """Position of the first token of a text."""
        return 0 if self.padding is None else self.padding + 1

    def own_name(self, weight: str) -> str:
        """Name that transformers has for a weight of a file."""
        weight = weight.removeprefix(f"{self.prefix}.")
        for old, new in (*_OLD_NAMES.items(), *self.files.items()):
            weight = weight.replace(old, new)
        return weight

    def own_tensors(self, tensors: Mapping[str, Floats]) -> dict[str, Floats]:
        """Tensors of a file by their names in transformers; joined ones in parts, which are views."""
        named = {self.own_name(name): tensor for name, tensor in tensors.items()}
        for name in list(named):
            layer, _, kind = name.rpartition(".")
            for end in filter(layer.endswith, self.joined):
                whole, parts = named.pop(name), self.joined[end]
                for part, rows in zip(parts, np.array_split(whole, len(parts)), strict=True):
                    named[f"{layer.removesuffix(end)}{part}.{kind}"] = rows
        return named

    def bert_name(self, weight: str) -> str:
        """Name that BERT has for a weight."""
        for own, of_bert in self.weights.items():
            weight = weight.replace(own, of_bert)
        return weight

    def bert_settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """config.json with the names of BERT."""
        return {**config, **{name: config[own] for name, own in self.settings.items() if own in config}}


def _of_roberta(*tokenizers: str) -> Family:
    return Family("roberta", tokenizers, padding=1)


def _of_gte(
    prefix: str, tokenizers: tuple[str, ...], act: str, files: Mapping[str, str], joined: Mapping[str, tuple[str, ...]]
) -> Family:
    activations = (act, *({"gelu", "silu"} - {act}))
    plain: Mapping[str, tuple[object, ...]] = {"hidden_act": activations, "quantization_config": (None,)}
    return Family(prefix, tokenizers, files, joined, plain=plain, layers="gte")


_QUERY_KEY_VALUE = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")


_WORD_PIECES = ("BertTokenizer", "BertTokenizerFast")
_TYPED = (*_WORD_PIECES, "ElectraTokenizer", "ElectraTokenizerFast")
_SENTENCE_PIECES = ("XLMRobertaTokenizer", "XLMRobertaTokenizerFast", "CamembertTokenizer", "CamembertTokenizerFast")
_BYTE_PAIRS = ("RobertaTokenizer", "RobertaTokenizerFast")
_FAMILIES: Mapping[str, Family] = {  # by `model_type` of config.json
    "bert": Family("bert", _WORD_PIECES),
    "camembert": _of_roberta(*_SENTENCE_PIECES),
    "distilbert": Family(
        "distilbert",
        ("DistilBertTokenizer", "DistilBertTokenizerFast", *_WORD_PIECES),
        weights={
            "transformer.layer": "encoder.layer",
            "attention.q_lin": "attention.self.query",
            "attention.k_lin": "attention.self.key",
            "attention.v_lin": "attention.self.value",
            "attention.out_lin": "attention.output.dense",
            "sa_layer_norm": "attention.output.LayerNorm",
            "ffn.lin1": "intermediate.dense",
            "ffn.lin2": "output.dense",
            "output_layer_norm": "output.LayerNorm",
        },
        settings={
            "hidden_size": "dim",
            "num_attention_heads": "n_heads",
            "num_hidden_layers": "n_layers",
            "hidden_act": "activation",
            "intermediate_size": "hidden_dim",
        },
    ),
    "electra": Family("electra", ("ElectraTokenizer", "ElectraTokenizerFast", *_WORD_PIECES)),
    "gte": _of_gte(
        "gte",
        (*_SENTENCE_PIECES, *_WORD_PIECES),
        "gelu",
        files={
            "new.": "",  # the prefix under a head in files
            "encoder.layer.": "layers.",
            "attention.o_proj": "self_attn.o_proj",
            "attn_ln": "post_attention_layernorm",
            "mlp_ln": "post_mlp_layernorm",
        },
        joined={"attention.qkv_proj": _QUERY_KEY_VALUE, "mlp.up_gate_proj": ("mlp.up_proj", "mlp.gate_proj")},
    ),
    "modernbert": Family(
        "model",
        _GENERIC,
        settings={"layer_norm_eps": "norm_eps", "hidden_act": "hidden_activation"},
        plain=dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias"), (False,)),
        layers="modernbert",
    ),
    "mpnet": Family(
        "mpnet",
        ("MPNetTokenizer", "MPNetTokenizerFast"),
        weights={
            "attention.LayerNorm": "attention.output.LayerNorm",
            "attention.attn.q": "attention.self.query",
            "attention.attn.k": "attention.self.key",
            "attention.attn.v": "attention.self.value",
            "attention.attn.o": "attention.output.dense",
        },
        padding=1,
    ),
    "nomic_bert": _of_gte(
        "nomic_bert",
        _WORD_PIECES,
        "silu",
        files={
            "encoder.layers": "layers",
            "emb_ln": "embeddings.LayerNorm",
            "attn.out_proj": "self_attn.o_proj",
            "fc11": "up_proj",
            "fc12": "gate_proj",
            "fc2": "down_proj",
            "norm1": "post_attention_layernorm",
            "norm2": "post_mlp_layernorm",
        },
        joined={"attn.Wqkv": _QUERY_KEY_VALUE},
    ),
    "roberta": _of_roberta(*_BYTE_PAIRS),
    "xlm-roberta": _of_roberta(*_SENTENCE_PIECES),
}


def family_of(config: Mapping[str, Any]) -> Family | None:
    """The family of a network by its config.json; None if its layers are not those of BERT."""
    family = _FAMILIES.get(str(config.get("model_type")))
    if family is None or family.padding not in (None, config.get("pad_token_id", 1)):
        return None
    settings, plain = family.bert_settings(config), {**_PLAIN, **family.plain}
    is_plain = all(settings.get(name, known[0]) in known for name, known in plain.items())
    return family if is_plain and _has_plain_heads(settings) and _has_plain_rotation(config) else None


def _has_plain_heads(settings: Mapping[str, Any]) -> bool:
    """Whether the dimensions of the heads are those of the network, if they are stated."""
    dim = settings.get("head_dim")
    return dim is None or dim * settings.get("num_attention_heads", 0) == settings.get("hidden_size")


def _has_plain_rotation(config: Mapping[str, Any]) -> bool:
    """Whether angles of rotary positions, if there are any, are not stretched for long texts."""
    rotation: Mapping[str, Any] = config.get("rope_parameters") or {}
    by_kind = [each for each in rotation.values() if isinstance(each, dict)]  # of layers, if they differ
    kinds = [each.get("rope_type", each.get("type", "default")) for each in (rotation, *by_kind)]
    return not config.get("rope_scaling") and all(kind == "default" for kind in kinds)


def is_plain_tokenizer(family: Family, tokenizer: Tokenizer, config: Mapping[str, Any]) -> bool:
    """Whether transformers makes the tokenizer of tokenizer.json from the settings beside it."""
    name = config.get("tokenizer_class") or family.tokenizers[0]
    if name in _GENERIC:
        return True
    added: Mapping[str, Any] = config.get("added_tokens_decoder") or {}
    return (
        name in family.tokenizers
        and _has_steps_of(name, tokenizer, config)
        and all(tokenizer.token_to_id(str(token.get("content"))) == int(key) for key, token in added.items())
    )


def _has_steps_of(name: str, tokenizer: Tokenizer, config: Mapping[str, Any]) -> bool:
    """Whether normalizer and pre-tokenizer are those of a class with these settings."""
    steps = tokenizer.pre_tokenizer
    if name in _BYTE_PAIRS:
        expected = pre_tokenizers.ByteLevel(add_prefix_space=config.get("add_prefix_space", False))
        return tokenizer.normalizer is None and str(steps) == str(expected)
    if name in _SENTENCE_PIECES:
        scheme = "always" if config.get("add_prefix_space", True) else "never"
        parts = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme=scheme)]
        has_map = tokenizer.normalizer is None or type(tokenizer.normalizer).__name__ == "Precompiled"
        return has_map and str(steps) == str(pre_tokenizers.Sequence(parts))
    words = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=config.get("tokenize_chinese_chars", True),
        strip_accents=config.get("strip_accents"),
        lowercase=config.get("do_lower_case", True),
    )
    return str(tokenizer.normalizer) == str(words) and type(steps).__name__ == "BertPreTokenizer"
