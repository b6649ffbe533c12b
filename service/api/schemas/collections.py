"""The bodies of /collections and their documents."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from service.api.schemas.request import Measure, Request, Usage
from service.api.text_types import Bounded, DocumentId, MetadataObject, ModelName, String, Text, documented
from service.ports import Collection, CollectionSize, Document, TokenStorage
from service.usecases.measures import DEFAULT_MEASURE


class CollectionRequest(Request):
    """What a collection is to be; it cannot change later."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"measure": "cosine", "tokens": "int8"}]})

    model: ModelName | None = Field(None, description="A served model; null is the default one.")
    measure: Measure = DEFAULT_MEASURE
    index: Annotated[String, documented(known_enum="indexes")] = Field(
        "faiss_flat", description="An index engine.", examples=["faiss_flat", "exact"]
    )
    tokens: TokenStorage = Field("none", description="Keep token vectors as int8, so that rcmd need not encode anew.")


class CollectionOut(BaseModel):
    """A collection and how much it holds."""

    name: str
    count: int = Field(description="Documents in it.")
    version: str
    model: str
    space: str
    dim: int
    measure: str
    index: str
    tokens: TokenStorage
    bytes_per_document: float = Field(description="Of vectors and token codes.")
    token_error: float | None = Field(description="Most that a score from token codes can be off; null without.")


class CollectionList(BaseModel):
    """All collections, by name."""

    collections: list[CollectionOut]


class DocumentIn(Request):
    """A document to store."""

    id: DocumentId
    text: Text
    metadata: MetadataObject = Field(default_factory=dict)


class DocumentsRequest(Request):
    """Documents to store together, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"id": "1", "text": "A text.", "metadata": {"lang": "en"}}]}]},
    )

    documents: Annotated[list[DocumentIn], Bounded, documented(known_maxItems="max_documents")] = Field(min_length=1)


class DocumentsResponse(BaseModel):
    """What was stored, and the version that holds it."""

    upserted: int
    version: str
    truncated: list[str] = Field(description="Ids of documents whose text was cut to fit the encoder.")
    usage: Usage


class DocumentOut(BaseModel):
    """A stored document."""

    id: str
    text: str
    metadata: dict[str, JsonValue]
    truncated: bool


class DocumentList(BaseModel):
    """A page of documents by id; `cursor` asks for the next, null on the last."""

    documents: list[DocumentOut]
    cursor: str | None


class Deleted(BaseModel):
    """The version that no longer holds the document."""

    deleted: int
    version: str


def collection_out(collection: Collection, size: CollectionSize) -> CollectionOut:
    """A collection as JSON."""
    settings = collection.settings
    return CollectionOut(
        name=collection.name,
        count=size.documents,
        version=str(collection.version),
        model=settings.model,
        space=settings.space,
        dim=settings.dim,
        measure=settings.measure,
        index=settings.index,
        tokens=settings.tokens,
        bytes_per_document=size.bytes_per_document,
        token_error=size.token_error,
    )


def document_out(document: Document) -> DocumentOut:
    """A document as JSON."""
    return DocumentOut(
        id=document.id, text=document.text, metadata=dict(document.metadata), truncated=document.truncated
    )
