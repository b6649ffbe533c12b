"""Making, showing and deleting collections."""

from __future__ import annotations

from dataclasses import dataclass

from models.protocols import Encoder
from service.errors import InvalidRequest, Problem, SpaceMismatch, UnknownModel
from service.names import RULE, is_name
from service.ports import (
    AUTO,
    Collection,
    CollectionSettings,
    CollectionSize,
    DocumentStore,
    ServedModels,
    TokenStorage,
)
from service.usecases.held_collections import HeldCollections
from service.usecases.measures import DEFAULT_MEASURE, measure


@dataclass(frozen=True, slots=True)
class NewCollection:
    """What a collection is asked to be; None is the default model."""

    model: str | None = None
    measure: str = DEFAULT_MEASURE
    index: str = AUTO
    tokens: TokenStorage = "none"


class Collections:
    """Collections and the models that fill them."""

    def __init__(self, models: ServedModels, local: HeldCollections) -> None:
        self._models = models
        self._local = local

    async def create(self, name: str, wanted: NewCollection) -> tuple[Collection, CollectionSize, bool]:
        """Create a collection, or find it as wanted; the flag says whether it is new.

        Raises:
            InvalidRequest, UnknownModel, UnknownMeasure, CollectionDiffers: see service.errors.
        """
        if not is_name(name):
            raise InvalidRequest([Problem("/name", "bad_name", RULE)])
        measure(wanted.measure)
        encoder = await self._models.get(wanted.model)
        settings = CollectionSettings(
            model=encoder.name,
            space=encoder.space,
            dim=encoder.dim,
            measure=wanted.measure,
            index=wanted.index,
            tokens=wanted.tokens,
        )

        def create(store: DocumentStore) -> tuple[Collection, CollectionSize, bool]:
            _, new = store.create(name, settings)
            return *store.sizes([name])[0], new

        return await self._local.write(name, create)

    async def show(self, name: str) -> tuple[Collection, CollectionSize]:
        """A collection, and how much it holds. Raises UnknownCollection."""
        return await self._local.read(lambda store: store.sizes([name])[0])

    async def list(self) -> list[tuple[Collection, CollectionSize]]:
        """All collections by name, and how much each holds."""
        return await self._local.read(lambda store: store.sizes())

    async def drop(self, name: str) -> None:
        """Delete a collection and all it holds. Raises UnknownCollection."""
        await self._local.drop(name)

    async def encoder_of(self, collection: Collection) -> Encoder:
        """The model that fills a collection.

        Raises:
            SpaceMismatch: it is not served, or it is no longer the one that made the collection's vectors.
        """
        settings = collection.settings
        try:
            encoder = await self._models.get(settings.model)
        except UnknownModel as error:
            raise SpaceMismatch(
                f"collection {collection.name!r} was made by model {settings.model!r}, which is not served"
            ) from error
        if encoder.space != settings.space:
            raise SpaceMismatch(
                f"collection {collection.name!r} was made by another version of model {settings.model!r} "
                f"(space {settings.space[:12]}, served now {encoder.space[:12]}): index its documents anew"
            )
        return encoder
