"""Create, show and delete collections, and find the models that fill them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from semblance_client.vocabulary import collections as vocabulary
from semblance_client.vocabulary.aliases import Alias, AliasList
from semblance_client.vocabulary.collections import (
    CollectionList,
    CollectionRequest,
    PassageCount,
    PassageCut,
    Passages,
    ReembeddingState,
)

from semblance.models import catalogue
from semblance.models.protocols import Encoder
from semblance.models.tokenization.passages import Cut, auto_cut, least_tokens
from semblance.service.errors import (
    InvalidRequest,
    NoReembedding,
    Problem,
    SpaceMismatch,
    UnknownCollection,
    UnknownModel,
)
from semblance.service.names import RULE, is_name
from semblance.service.ports.document_store import DocumentReader, DocumentWriter
from semblance.service.ports.documents import Collection, CollectionSettings, CollectionSize
from semblance.service.ports.embedding import ServedModels
from semblance.service.ports.indexes import AUTO, ENGINES
from semblance.service.replication.access import CollectionAccess

log = logging.getLogger(__name__)

DEFAULT_MEASURE = "cosine"


def cut_for(passages: Passages | Cut, encoder: Encoder, text_fields: Sequence[str] = ()) -> Cut | None:
    """The cut of documents for an encoder.

    Raises InvalidRequest if that leaves no room, or no passages for text fields.
    """
    if isinstance(passages, str):
        cut = None if passages == "none" else auto_cut(encoder)
        if cut is None and text_fields:
            detail = f"the text fields {', '.join(text_fields)} need passages: choose another cut or model"
            raise InvalidRequest([Problem("/passages", "invalid_value", detail)])
        return cut
    least = least_tokens(encoder)
    if passages.tokens < least:
        detail = f"{passages.tokens:,} tokens leave too little room for text: {encoder.name} needs {least:,} or more"
        raise InvalidRequest([Problem("/passages/tokens", "out_of_range", detail)])
    if passages.tokens > encoder.max_tokens:
        detail = f"{passages.tokens:,} tokens exceed the {encoder.max_tokens:,} that model {encoder.name} reads"
        raise InvalidRequest([Problem("/passages/tokens", "out_of_range", detail)])
    return Cut(passages.tokens, passages.overlap)


class Collections:
    """Collections and the models that fill them."""

    def __init__(self, models: ServedModels, access: CollectionAccess) -> None:
        self._models = models
        self._access = access
        self._warned: set[tuple[str, str]] = set()

    async def create(self, name: str, request: CollectionRequest) -> tuple[vocabulary.Collection, bool]:
        """Create a collection, or get an equal one; the flag says whether it is new.

        Raises:
            InvalidRequest, UnknownModel, UnknownMeasure, CollectionDiffers, AliasConflict: see the errors of models and
            service.
        """
        if not is_name(name):
            raise InvalidRequest([Problem("/name", "bad_name", RULE)])
        if request.index not in (known := (AUTO, *catalogue.names(ENGINES))):
            detail = f"unknown index {request.index!r}; choose one of {', '.join(known)}"
            raise InvalidRequest([Problem("/index", "unknown_index", detail)])
        catalogue.similarity(request.measure)  # raises UnknownMeasure
        encoder = await self._models.get(request.model)
        settings = CollectionSettings(
            model=encoder.name,
            space=encoder.space,
            dim=encoder.dim,
            measure=request.measure,
            index=request.index,
            tokens=request.tokens,
            precision=encoder.precision,
            text_fields=tuple(request.text_fields),
        ).cut_as(cut_for(request.passages, encoder, request.text_fields))

        def create(store: DocumentWriter) -> tuple[Collection, CollectionSize, bool]:
            wanted = _cut_as_before(store, name, settings) if request.passages == "auto" else settings
            _, new = store.create(name, wanted)
            return *store.sizes([name])[0], new

        collection, size, new = await self._access.write(name, create)
        return collection_response(collection, size), new

    async def show(self, name: str) -> vocabulary.Collection:
        """Get a collection and its size. Raises UnknownCollection."""
        return collection_response(*await self._access.read(lambda store: store.sizes([name])[0]))

    async def list(self) -> CollectionList:
        """List all collections and their sizes, by name."""
        sizes = await self._access.read(lambda store: store.sizes())
        return CollectionList(collections=[collection_response(*sized) for sized in sizes])

    async def drop(self, name: str) -> None:
        """Delete a collection with documents and aliases. Raises UnknownCollection, AliasConflict."""
        await self._access.drop(name)

    async def resolve(self, name: str, *, latest: bool) -> str:
        """Get the name of the collection that a request asks for. Raises as `CollectionAccess`."""
        return await self._access.resolve(name, latest=latest)

    async def set_alias(self, name: str, collection: str) -> tuple[Alias, bool]:
        """Let an alias lead to a collection from now on; the flag says whether it is new.

        Raises:
            UnknownCollection, AliasConflict, Forbidden: see semblance.service.errors.
        """
        new = await self._access.write(collection, lambda store: store.set_alias(name, collection))
        return Alias(name=name, collection=collection), new

    async def aliases(self) -> AliasList:
        """List all aliases and their collections, by name."""
        found = await self._access.read(lambda store: store.aliases())
        return AliasList(aliases=[Alias(name=name, collection=target) for name, target in found.items()])

    async def drop_alias(self, name: str) -> None:
        """Delete an alias, and leave its collection. Raises UnknownAlias, Forbidden."""
        await self._access.write(name, lambda store: store.drop_alias(name))

    async def encoder_of(self, collection: Collection) -> Encoder:
        """Get the model that fills a collection.

        Raises:
            SpaceMismatch: it is not served, or its served version did not make the collection's vectors.
        """
        name, settings = collection.name, collection.settings
        encoder = await self._served(settings.model)
        if encoder is None:
            raise SpaceMismatch(f"collection {name!r} was made by model {settings.model!r}, which is not served")
        if encoder.space != settings.space:
            raise SpaceMismatch(
                f"collection {name!r} was made by another version of model {settings.model!r} "
                f"(space {settings.space[:12]}, served now {encoder.space[:12]}); re-embed it under a served model"
            )
        if settings.precision not in (None, encoder.precision):
            self._warn_of_precision(collection, encoder)
        return encoder

    def _warn_of_precision(self, collection: Collection, encoder: Encoder) -> None:
        """Log once that a collection has vectors in another number type than its encoder now makes."""
        if (collection.name, collection.version.epoch) not in self._warned:
            self._warned.add((collection.name, collection.version.epoch))
            log.warning(
                "collection %s was made in %s, and its model %s runs in %s now: scores may differ slightly, unless "
                "SEMBLANCE_PRECISION is %s",
                collection.name,
                collection.settings.precision,
                encoder.name,
                encoder.precision,
                collection.settings.precision,
            )

    async def next_encoder_of(self, collection: Collection) -> Encoder:
        """Get the model that a collection is being re-embedded under.

        Raises:
            NoReembedding: it is not being re-embedded.
            SpaceMismatch: this process does not serve that version of the model.
        """
        reembedding = collection.reembedding
        if reembedding is None:
            begin = f"begin with PUT /collections/{collection.name}/reembedding"
            raise NoReembedding(f"collection {collection.name!r} is not being re-embedded; {begin}")
        encoder = await self._served(reembedding.model)
        if encoder is None or encoder.space != reembedding.space:
            raise SpaceMismatch(
                f"collection {collection.name!r} is being re-embedded under model {reembedding.model!r} (space "
                f"{reembedding.space[:12]}), which is not served here; serve it too, or drop the re-embedding with "
                f"DELETE /collections/{collection.name}/reembedding"
            )
        return encoder

    async def _served(self, model: str) -> Encoder | None:
        try:
            return await self._models.get(model)
        except UnknownModel:
            return None


def collection_response(collection: Collection, size: CollectionSize) -> vocabulary.Collection:
    """A collection as responses have it."""
    settings, target = collection.settings, collection.reembedding
    return vocabulary.Collection(
        name=collection.name,
        count=size.documents,
        truncated=size.truncated,
        version=str(collection.version),
        model=settings.model,
        space=settings.space,
        dim=settings.dim,
        precision=settings.precision,
        measure=settings.measure,
        index=settings.index,
        tokens=settings.tokens,
        passages=settings.cut and PassageCount(**settings.cut._asdict(), count=size.passages),
        text_fields=list(settings.text_fields),
        bytes_per_document=size.bytes_per_document,
        token_error=size.token_error,
        reembedding=target
        and ReembeddingState(
            model=target.model,
            space=target.space,
            passages=target.cut and PassageCut(**target.cut._asdict()),
            documents_left=size.unfilled,
        ),
    )


def _cut_as_before(store: DocumentReader, name: str, settings: CollectionSettings) -> CollectionSettings:
    """The settings, with the cut of an existing collection, perhaps of an earlier release."""
    try:
        return settings.cut_as(store.collection(name).settings.cut)
    except UnknownCollection:
        return settings
