"""Scores computed here, beside the service: texts encoded by an encoder of this process, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source

TOLERANCE = 1e-5  # of a score in float32


class Oracle:
    """The cosine of any two texts in any space that is served.

    Args:
        models: the file of each served model, by its name; the first is the default.
    """

    def __init__(self, models: Mapping[str, Path]) -> None:
        encoders = [read_source(str(file)).load(name, Compute()) for name, file in models.items()]
        self._encoders = {encoder.space: encoder for encoder in encoders}
        self._direction = lru_cache(100_000)(self._computed)

    @property
    def spaces(self) -> list[str]:
        """What is served, by the names that answers carry."""
        return [*self._encoders]

    def off_by(self, space: str, query: str, text: str, score: float) -> float:
        """How far a score is from the true one."""
        return abs(score - float(self._direction(space, query) @ self._direction(space, text)))

    def _computed(self, space: str, text: str) -> NDArray[np.float64]:
        encoder = self._encoders[space]
        [found] = encoder.encode(encoder.tokenize([text], "document", "END"), "pooled")
        vector = found.pooled().astype(np.float64)
        return vector / (np.linalg.norm(vector) or 1.0)
