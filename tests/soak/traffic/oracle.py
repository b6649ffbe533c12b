"""Oracle of scores: texts encoded one by one by an encoder in this process."""

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
    """The cosine of two texts in any served space.

    Args:
        models: file of each served model, by name; the first is the default.
    """

    def __init__(self, models: Mapping[str, Path]) -> None:
        encoders = [read_source(str(file)).load(name, Compute()) for name, file in models.items()]
        self._encoders = {encoder.space: encoder for encoder in encoders}
        self._direction = lru_cache(100_000)(self._encode)

    @property
    def spaces(self) -> list[str]:
        """The served spaces, as named in answers."""
        return [*self._encoders]

    def error_of(self, space: str, query: str, text: str, score: float) -> float:
        """Absolute error of a score."""
        return abs(score - float(self._direction(space, query) @ self._direction(space, text)))

    def _encode(self, space: str, text: str) -> NDArray[np.float64]:
        encoder = self._encoders[space]
        [embeddings] = encoder.encode(encoder.tokenize([text], "document", "END"), "pooled")
        vector = embeddings.pooled().astype(np.float64)
        return vector / (np.linalg.norm(vector) or 1.0)
