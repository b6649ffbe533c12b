"""Texts as vectors, for clients that compare or index them on their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Floats, unit_rows
from semblance.models.protocols import Encoder
from semblance.models.text import Truncate
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.offload import Aside
from semblance.service.ports.embedding import ServedModels
from semblance.service.usecases.embed_texts import Given, TextEmbedder


@dataclass(frozen=True, slots=True)
class VectorsFor:
    """What to encode, and how. `dimensions` keeps the first ones only; None keeps all."""

    texts: Sequence[Given]
    model: str
    dimensions: int | None
    truncate: Truncate


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """(n, d) float32 vectors at unit length in the order of the texts, and which of the texts were cut."""

    encoder: Encoder
    vectors: Floats
    truncated: Sequence[bool]
    tokens: int


class Vectors:
    """Encodes every text in the role of a query: two of these vectors compare as /similarity compares their texts."""

    def __init__(self, models: ServedModels, texts: TextEmbedder) -> None:
        self._models = models
        self._texts = texts
        self._aside = Aside()

    async def __call__(self, wanted: VectorsFor) -> TextVectors:
        """The vector of each text.

        Raises:
            UnknownModel: no such model is served.
            InvalidRequest: the model has fewer dimensions, or texts cannot be encoded.
        """
        encoder = await self._models.get(wanted.model)
        dimensions = encoder.dim if wanted.dimensions is None else wanted.dimensions
        if dimensions > encoder.dim:
            detail = f"{dimensions:,} dimensions; {encoder.name} has {encoder.dim:,}"
            raise InvalidRequest([Problem("/dimensions", "out_of_range", detail)])
        embedded = await self._texts.embed(encoder, wanted.texts, "query", "pooled", wanted.truncate)

        def cut() -> Floats:
            pooled = np.stack([each.pooled() for each in embedded.embeddings])
            return unit_rows(pooled[:, :dimensions]).astype(np.float32)

        vectors = await self._aside.do("cut", len(wanted.texts) * encoder.dim, cut)
        return TextVectors(encoder, vectors, embedded.truncated, embedded.tokens)
