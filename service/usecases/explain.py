"""Why do these two texts get this score?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from semblance.models.explanation import Explanation
from semblance.models.protocols import Encoder
from semblance.models.text import Granularity, Role, Truncate
from semblance.service.errors import UnknownDocument
from semblance.service.ports.embedding import ServedModels
from semblance.service.replication.access import HeldCollections
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed_texts import Given, TextEmbedder
from semblance.service.usecases.measures import DEFAULT_MEASURE, explainable


@dataclass(frozen=True, slots=True)
class InCollection:
    """A stored document that stands for the second text."""

    id: str
    collection: str


@dataclass(frozen=True, slots=True)
class ExplainFor:
    """What to explain. `max_links` keeps the strongest links only; None keeps all.

    Where `measure` is None, it is what the score would be by: the collection's for a document, else cosine.
    """

    a: Given
    b: Given | InCollection
    measure: str | None
    model: str | None
    granularity: Granularity
    max_links: int | None
    truncate: Truncate = "END"


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation and the whole texts that it is about; `truncated` if an encoder took only part of one."""

    encoder: Encoder
    measure: str
    a: str
    b: str
    truncated: bool
    explanation: Explanation


class Explain:
    """Shows the parts of a score, as `Compare` or `Search` computes it."""

    def __init__(
        self, collections: Collections, models: ServedModels, local: HeldCollections, texts: TextEmbedder
    ) -> None:
        self._collections = collections
        self._models = models
        self._local = local
        self._texts = texts

    async def __call__(self, request: ExplainFor) -> Explained:
        """The explanation of one pair.

        Raises:
            UnknownMeasure, NotExplainable, UnknownModel, UnknownCollection, UnknownDocument, SpaceMismatch,
            InvalidRequest: see semblance.service.errors.
        """
        encoder, b, role, usual = await self._other(request)
        measure = request.measure or usual
        explainer = explainable(measure)
        left = await self._texts.embed(encoder, [request.a], "query", "tokens", request.truncate)
        right = await self._texts.embed(encoder, [b], role, "tokens", request.truncate)

        def compute() -> Explanation:
            explanation = explainer.explain(left.embeddings[0], right.embeddings[0])
            grouped = explanation.by_word() if request.granularity == "word" else explanation
            return grouped if request.max_links is None else grouped.strongest(request.max_links)

        return Explained(
            encoder=encoder,
            measure=measure,
            a=request.a.text,
            b=b.text,
            truncated=left.truncated[0] or right.truncated[0],
            explanation=await asyncio.to_thread(compute),
        )

    async def _other(self, request: ExplainFor) -> tuple[Encoder, Given, Role, str]:
        """The second text, its role and its usual measure: as in a search for a document, else as in a comparison."""
        if isinstance(request.b, Given):
            return await self._models.get(request.model), request.b, "query", DEFAULT_MEASURE
        place = request.b
        collection = await self._local.read(lambda store: store.collection(place.collection))
        found = await self._local.read(lambda store: store.get(place.collection, [place.id]))
        if place.id not in found:
            raise UnknownDocument(f"collection {place.collection!r} has no document {place.id!r}")
        encoder = await self._collections.encoder_of(collection)
        return encoder, Given(found[place.id].text, "/id"), "document", collection.settings.measure
