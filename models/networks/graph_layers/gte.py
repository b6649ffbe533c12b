"""The layers of GTE and Nomic: those of BERT, with rotary positions and gated linear units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semblance.models.embeddings import Floats
from semblance.models.model_files.bert_families import WORD_TABLE
from semblance.models.networks.graph_layers.bert import TYPE_TABLE
from semblance.models.networks.graph_layers.rotary import RotaryLayers
from semblance.models.networks.shape_buckets import GraphInputs

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {  # by `model_type`
    "gte": {"hidden_act": "gelu", "max_position_embeddings": 8192, "rope_theta": 160_000.0, "type_vocab_size": 1},
    "nomic_bert": {"hidden_act": "silu", "max_position_embeddings": 2048, "rope_theta": 1000.0, "type_vocab_size": 2},
}


class GteLayers(RotaryLayers):
    """The layers of a GTE or a Nomic, which has no biases, as nodes of OpenVINO.

    Args:
        weights: by their names in transformers.
        config: that of the folder.

    Raises:
        KeyError: a weight or a setting is missing.
        ValueError: a weight has another shape.

    Source: zhang-etal-2024-mgte; nussbaum-etal-2024-nomic.
    """

    def __init__(self, weights: Mapping[str, Floats], config: Mapping[str, Any]) -> None:
        kind = config["model_type"]
        settings = {"layer_norm_eps": 1e-12, **_DEFAULTS[kind], **config}
        super().__init__(weights, settings)
        self._base = float((settings.get("rope_parameters") or settings).get("rope_theta", settings["rope_theta"]))
        self._act, self._has_biases = settings["hidden_act"], kind == "gte"
        self._has_types = settings["type_vocab_size"] > 0
        for name in (f"layers.{i}.self_attn.{part}_proj.weight" for i in range(self._layers) for part in "qkv"):
            if weights[name].shape != (self._dim, self._dim):  # the graph would be made, and fail at the first text
                raise ValueError(f"{name} has the shape {weights[name].shape}")

    def _hidden(self, inputs: GraphInputs) -> Any:
        op, seen = self._op, self._real(inputs)
        turns = self._turns(inputs.positions, self._base)
        hidden = self._embeddings(inputs.ids)
        for i in range(self._layers):
            layer = f"layers.{i}"
            query, key, value = (self._biased(hidden, f"{layer}.self_attn.{part}_proj") for part in "qkv")
            attended = self._attention(self._turned(query, *turns), self._turned(key, *turns), value, inputs, seen)
            changed = op.add(hidden, self._biased(attended, f"{layer}.self_attn.o_proj"))
            hidden = self._norm(changed, f"{layer}.post_attention_layernorm")
            changed = op.add(hidden, self._gated(hidden, f"{layer}.mlp"))
            hidden = self._norm(changed, f"{layer}.post_mlp_layernorm")
        return hidden

    def _embeddings(self, ids: Any) -> Any:
        """(T,) -> (T, d): all tokens have the first type."""
        words = self._rows(self._numbers(self._weights[WORD_TABLE]), ids)
        if self._has_types:
            words = self._op.add(words, self._numbers(self._weights[TYPE_TABLE][:1]))
        return self._norm(words, "embeddings.LayerNorm")

    def _gated(self, x: Any, name: str) -> Any:
        """W_down (act(W_gate x) * W_up x)."""
        op = self._op
        gate, up = (self._linear(x, f"{name}.{part}_proj", bias=False) for part in ("gate", "up"))
        gate = op.swish(gate) if self._act == "silu" else op.gelu(gate, "ERF")
        return self._biased(op.multiply(gate, up), f"{name}.down_proj")

    def _biased(self, x: Any, name: str) -> Any:
        """A linear layer that has a bias in GTE."""
        return self._linear(x, name, bias=self._has_biases)
