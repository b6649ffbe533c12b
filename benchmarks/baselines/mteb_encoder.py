"""Encoder for MTEB that asks a running service for vectors; docs/integrations.md shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import requests
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta


class ServiceEncoder(AbsEncoder):
    """Vectors by POST /v1/embeddings, of queries and of documents as the model reads them."""

    def __init__(self, model: str, url: str = "http://127.0.0.1:8000", key: str = "none") -> None:
        self.mteb_model_meta = ModelMeta.create_empty({"name": f"semblance/{model}", "revision": "served"})
        self._model = model
        self._address = f"{url}/v1/embeddings"
        self._session = requests.Session()
        self._session.headers["authorization"] = f"Bearer {key}"

    def encode(self, inputs: Iterable[dict[str, Any]], *, prompt_type: Any = None, **_: object) -> Any:
        """Vectors of the texts of all batches, as one array (texts, dimensions)."""
        role = {} if prompt_type is None else {"input_type": prompt_type.value}
        return np.concatenate([self._vectors({"input": batch["text"], **role}) for batch in inputs])

    def _vectors(self, body: dict[str, Any]) -> Any:
        answer = self._session.post(self._address, json={"model": self._model, "truncate": "END", **body}, timeout=300)
        answer.raise_for_status()
        return np.array([each["embedding"] for each in answer.json()["data"]], np.float32)
