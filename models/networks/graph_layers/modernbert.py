"""The layers of a ModernBERT: rotary positions, attention in windows, gated linear units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from semblance.models.embeddings import Floats
from semblance.models.networks.graph_layers.rotary import RotaryLayers
from semblance.models.networks.shape_buckets import GraphInputs

_EVERYWHERE, _NEARBY = "full_attention", "sliding_attention"
_OLD_BASES = {_EVERYWHERE: ("global_rope_theta", 160_000.0), _NEARBY: ("local_rope_theta", 10_000.0)}
_DEFAULTS: Mapping[str, Any] = {"layer_norm_eps": 1e-5, "local_attention": 128, "max_position_embeddings": 8192}


class ModernBertLayers(RotaryLayers):
    """The layers of a ModernBERT without biases, as nodes of OpenVINO.

    Args:
        weights: by name.
        config: that of the folder, with the names of BERT.

    Raises:
        KeyError: a weight or a setting is missing.
        ValueError: layers have no kind.

    Source: warner-etal-2024-modernbert.
    """

    def __init__(self, weights: Mapping[str, Floats], config: Mapping[str, Any]) -> None:
        settings = {**_DEFAULTS, **config}
        super().__init__(weights, settings)
        self._window = int(settings["local_attention"]) // 2
        self._kinds = _kinds_of_layers(settings)
        if len(self._kinds) < self._layers:
            raise ValueError(f"layer_types has {len(self._kinds)} entries for {self._layers} layers")
        self._bases = {kind: _base(settings, kind) for kind in _OLD_BASES}

    def _hidden(self, inputs: GraphInputs) -> Any:
        op = self._op
        seen = {_EVERYWHERE: self._real(inputs), _NEARBY: self._near(inputs)}
        turns = {kind: self._turns(inputs.positions, base) for kind, base in self._bases.items()}
        words = self._rows(self._numbers(self._weights["embeddings.tok_embeddings.weight"]), inputs.ids)
        hidden = self._norm(words, "embeddings.norm", bias=False)
        for i in range(self._layers):
            kind, layer = self._kinds[i], f"layers.{i}"
            normal = self._norm(hidden, f"{layer}.attn_norm", bias=False) if i else hidden
            projected = self._linear(normal, f"{layer}.attn.Wqkv", bias=False)
            query, key, value = op.split(projected, op.constant(np.int64(1)), 3).outputs()
            query, key = self._turned(query, *turns[kind]), self._turned(key, *turns[kind])
            attended = self._attention(query, key, value, inputs, seen[kind])
            hidden = op.add(hidden, self._linear(attended, f"{layer}.attn.Wo", bias=False))
            normal = self._norm(hidden, f"{layer}.mlp_norm", bias=False)
            hidden = op.add(hidden, self._gated(normal, f"{layer}.mlp"))
        return self._norm(hidden, "final_norm", bias=False)

    def _near(self, inputs: GraphInputs) -> Any:
        """(b, 1, l, l): cells of tokens at most half a window away.

        Cells of padding may see none; they are never read.
        """
        op = self._op
        near = op.less_equal(op.absolute(self._apart(inputs)), op.constant(np.int64(self._window)))
        return op.logical_and(op.unsqueeze(near, self._integers(0, 1)), self._real(inputs))

    def _gated(self, x: Any, name: str) -> Any:
        """W_o (gelu(a) * b), where W_i x = [a, b]."""
        op = self._op
        inner, gate = op.split(self._linear(x, f"{name}.Wi", bias=False), op.constant(np.int64(1)), 2).outputs()
        return self._linear(op.multiply(op.gelu(inner, "ERF"), gate), f"{name}.Wo", bias=False)


def _kinds_of_layers(config: Mapping[str, Any]) -> list[str]:
    """The kind of attention of each layer: in older folders, every third one attends everywhere."""
    every = int(config.get("global_attn_every_n_layers", 3))
    kinds = (_NEARBY if i % every else _EVERYWHERE for i in range(int(config["num_hidden_layers"])))
    return list(config.get("layer_types") or kinds)


def _base(config: Mapping[str, Any], kind: str) -> float:
    """The base of the speeds at which the angles of a kind of layer grow."""
    name, default = _OLD_BASES[kind]
    rotation = (config.get("rope_parameters") or {}).get(kind) or {}
    return float(rotation.get("rope_theta", config.get(name, default)))
