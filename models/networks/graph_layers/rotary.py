"""Positions as angles by which queries and keys are turned, as nodes of OpenVINO."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from semblance.models.embeddings import Floats
from semblance.models.networks.graph_layers.packed import PackedLayers


class RotaryLayers(PackedLayers):
    """The layers of a network with rotary positions.

    Args:
        weights: by name.
        config: that of the folder, with the names of BERT.

    Raises:
        KeyError: a weight or a setting is missing.

    Source: su-etal-2024-roformer.
    """

    def __init__(self, weights: Mapping[str, Floats], config: Mapping[str, Any]) -> None:
        super().__init__(weights, config)
        self._positions = int(config["max_position_embeddings"])

    @property
    def positions(self) -> int:
        """Positions that the network has."""
        return self._positions

    def _turns(self, positions: Any, base: float) -> tuple[Any, Any]:
        """(T, 1, d / 2h) each: cosines and sines of the angles of each token's position."""
        steps = self._dim // self._heads // 2
        speeds = np.float32(1) / np.float32(base) ** (np.arange(steps, dtype=np.float32) / np.float32(steps))
        angles = np.arange(self._positions, dtype=np.float32)[:, None, None] * speeds
        return tuple(self._rows(self._numbers(each), positions) for each in (np.cos(angles), np.sin(angles)))

    def _turned(self, x: Any, cosines: Any, sines: Any) -> Any:
        """(T, d) -> (T, d): the halves of each head as coordinates of points, turned by the angles."""
        op = self._op
        heads = op.reshape(x, self._integers(0, self._heads, self._dim // self._heads), True)
        first, second = op.split(heads, op.constant(np.int64(2)), 2).outputs()
        halves = [
            op.subtract(op.multiply(first, cosines), op.multiply(second, sines)),
            op.add(op.multiply(second, cosines), op.multiply(first, sines)),
        ]
        return op.reshape(op.concat(halves, 2), self._integers(-1, self._dim), False)
