"""The layers of a BERT, and of networks that differ from it by names and positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Floats
from semblance.models.files.four_bit import OFFSET, FourBit
from semblance.models.model_files.bert_families import WORD_TABLE
from semblance.models.networks.graph_layers.packed import PackedLayers
from semblance.models.networks.shape_buckets import GraphInputs

TYPE_TABLE = "embeddings.token_type_embeddings.weight"
_POSITION_TABLE = "embeddings.position_embeddings.weight"
_RELATIVE = "encoder.relative_attention_bias.weight"  # of MPNet: (buckets, heads)
_UNSEEN = -1e9  # added to the product of tokens of which one is padding
_FARTHEST = 128  # MPNet does not tell positions apart that are this far away
_DEFAULTS: Mapping[str, Any] = {"layer_norm_eps": 1e-12}


def buckets_of(distances: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """The bucket of each distance, as in MPNet: half a side, far ones in logarithmic steps."""
    half = buckets // 2
    exact, far = half // 2, np.abs(distances)
    steps = np.log(np.maximum(far, 1) / exact) / np.log(_FARTHEST / exact) * (half - exact)
    beyond = np.minimum(exact + steps.astype(np.int64), half - 1)
    found: NDArray[np.int64] = np.where(far < exact, far, beyond) + half * (distances > 0)
    return found


class BertLayers(PackedLayers):
    """The layers of a network of BERT's kind as nodes of OpenVINO.

    Args:
        weights: by the names of BERT.
        config: that of the folder, with the names of BERT.
        table: that of the words, if it has four bits.

    Raises:
        KeyError: a weight or a setting is missing.
    """

    def __init__(self, weights: Mapping[str, Floats], config: Mapping[str, Any], table: FourBit | None) -> None:
        super().__init__(weights, {**_DEFAULTS, **config})
        self._table = table

    @property
    def positions(self) -> int:
        """Positions that the network has, of which some precede the first token."""
        return len(self._weights[_POSITION_TABLE])

    def _hidden(self, inputs: GraphInputs) -> Any:
        op, seen = self._op, self._real(inputs)
        if _RELATIVE in self._weights:
            seen = op.select(seen, self._distances(inputs), op.constant(np.float32(_UNSEEN)))
        hidden = self._embeddings(inputs.ids, inputs.positions)
        for i in range(self._layers):
            layer = f"encoder.layer.{i}"
            query, key, value = (
                self._linear(hidden, f"{layer}.attention.self.{part}") for part in ("query", "key", "value")
            )
            attended = self._attention(query, key, value, inputs, seen)
            hidden = self._add_norm(hidden, attended, f"{layer}.attention.output")
            inner = op.gelu(self._linear(hidden, f"{layer}.intermediate.dense"), "ERF")
            hidden = self._add_norm(hidden, inner, f"{layer}.output")
        return hidden

    def _embeddings(self, ids: Any, positions: Any) -> Any:
        """(T,) -> (T, d): positions of the second type come behind those of the first."""
        weights = self._weights
        places = weights[_POSITION_TABLE]
        if TYPE_TABLE in weights:
            places = np.concatenate([places + of_type for of_type in weights[TYPE_TABLE][:2]])
        table = self._table
        words = self._words(table, ids) if table else self._rows(self._numbers(weights[WORD_TABLE]), ids)
        summed = self._op.add(words, self._rows(self._numbers(places), positions))
        normal = self._norm(summed, "embeddings.LayerNorm")
        return self._linear(normal, "embeddings_project") if "embeddings_project.weight" in weights else normal

    def _distances(self, inputs: GraphInputs) -> Any:
        """(b, l) -> (1, h, l, l): what MPNet adds to products of tokens, by how far apart they are."""
        op = self._op
        apart = self._apart(inputs)
        rows = op.add(op.clamp(apart, -_FARTHEST, _FARTHEST), op.constant(np.int64(_FARTHEST)))
        buckets = buckets_of(np.arange(-_FARTHEST, _FARTHEST + 1), len(self._weights[_RELATIVE]))
        table = self._numbers(np.ascontiguousarray(self._weights[_RELATIVE][buckets]))
        return op.unsqueeze(op.transpose(self._rows(table, rows), self._integers(2, 0, 1)), self._integers(0))

    def _words(self, table: FourBit, ids: Any) -> Any:
        """Rows of the table of words (T, d), of which only these are made float32."""
        op = self._op
        halves = self._rows(self._numbers(table.halves), ids)  # (T, d / 32, 16)
        low = op.convert(op.bitwise_and(halves, op.constant(np.uint8(15))), "f32")
        high = op.divide(op.subtract(op.convert(halves, "f32"), low), op.constant(np.float32(16)))
        scales = op.unsqueeze(op.convert(self._rows(self._numbers(table.scales), ids), "f32"), self._integers(2))
        numbers = op.multiply(op.subtract(op.concat([low, high], 2), op.constant(np.float32(OFFSET))), scales)
        return op.reshape(numbers, self._integers(-1, self._dim), False)

    def _add_norm(self, hidden: Any, change: Any, name: str) -> Any:
        added = self._op.add(hidden, self._linear(change, f"{name}.dense"))
        return self._norm(added, f"{name}.LayerNorm")
