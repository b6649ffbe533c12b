"""Bodies of /collections, their documents and re-embedding."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from semblance.service.api.schemas.fields import (
    Bounded,
    DocumentId,
    Measure,
    MetadataObject,
    ModelName,
    Space,
    StrictBody,
    String,
    Text,
    Usage,
    VersionText,
    documented,
)
from semblance.service.api.schemas.warnings import WarningOut, Warnings
from semblance.service.ports.documents import Collection, CollectionSize, Document, TokenStorage
from semblance.service.ports.indexes import AUTO
from semblance.service.usecases.collections import DEFAULT_MEASURE


class CollectionRequest(StrictBody):
    """Settings of a new collection; they cannot be changed later."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"measure": "cosine", "tokens": "int8"}]})

    model: ModelName | None = Field(None, description="A served model; null is the default one.")
    measure: Measure = DEFAULT_MEASURE
    index: Annotated[String, documented(known_enum="indexes")] = Field(
        AUTO, description="An index engine, or auto: by the number of documents.", examples=[AUTO, "faiss_flat"]
    )
    tokens: TokenStorage = Field("none", description="Keep token vectors as int8, so that rcmd need not encode again.")


class ReembeddingOut(BaseModel):
    """The model under which a collection is being re-embedded."""

    model: str
    space: Space
    documents_left: int = Field(description="Documents that it has not embedded yet.")


class CollectionOut(BaseModel):
    """A collection and its size."""

    name: str
    count: int = Field(description="Documents in it.")
    truncated: int = Field(description="Documents among them whose text was truncated to fit the model.")
    version: str
    model: str
    space: Space
    dim: int
    measure: str
    index: str
    tokens: TokenStorage
    bytes_per_document: float = Field(description="Of vectors and token codes.")
    token_error: float | None = Field(description="Largest error of a score from token codes; null without them.")
    reembedding: ReembeddingOut | None = Field(description="Null unless it is being re-embedded under another model.")


class CollectionList(BaseModel):
    """All collections, by name."""

    collections: list[CollectionOut]


class DocumentIn(StrictBody):
    """A document to store."""

    id: DocumentId
    text: Text
    metadata: MetadataObject = Field(default_factory=dict)


class ConditionalDocumentIn(DocumentIn):
    """A document to store, if it has not changed."""

    if_version: VersionText | None = Field(
        None, description="Store it only if it has not changed since this version of the collection; else 409."
    )


class DocumentsRequest(StrictBody):
    """Documents to store together, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"id": "1", "text": "A text.", "metadata": {"lang": "en"}}]}]},
    )

    documents: Annotated[list[ConditionalDocumentIn], Bounded, documented(known_maxItems="max_documents")] = Field(
        min_length=1
    )


class DocumentsResponse(BaseModel):
    """Number of stored documents, and the version that contains them."""

    upserted: int
    version: str
    truncated: list[str] = Field(description="Ids of documents whose text was truncated to fit the model.")
    warnings: Warnings
    usage: Usage


class LineRefused(BaseModel):
    """A line of NDJSON that was not stored."""

    line: int
    pointer: str = Field(description="JSON pointer into the line's document.")
    code: str
    detail: str


class LineWarning(WarningOut):
    """A warning about a line of NDJSON that was stored; its pointer is into the line's document."""

    line: int


class StreamStored(BaseModel):
    """A batch of NDJSON on disk: each line up to `through_line` is stored or listed as refused."""

    through_line: int
    upserted: int
    version: str | None = Field(description="Null if all of the batch was refused.")
    truncated: list[str]
    errors: list[LineRefused]
    warnings: list[LineWarning]


class StreamDone(BaseModel):
    """Last line of the answer to NDJSON that was read to its end."""

    done: Literal[True] = True
    upserted: int
    failed: int
    version: str | None


class StreamBroken(BaseModel):
    """Last line of the answer to NDJSON that failed: lines after `through_line` were not stored."""

    done: Literal[False] = False
    error: str = Field(description="A code of the table of errors.")
    detail: str
    through_line: int


class DocumentOut(BaseModel):
    """A stored document."""

    id: str
    text: str
    metadata: dict[str, JsonValue]
    truncated: bool


class DocumentAt(DocumentOut):
    """A stored document, and the version of its collection when it was read."""

    version: str = Field(description="Send it as `if_version` with a change, and as `min_version` with a search.")


class DocumentList(BaseModel):
    """A page of documents by id; `cursor` asks for the next, null on the last."""

    documents: list[DocumentOut]
    cursor: str | None


class Deleted(BaseModel):
    """The version without the deleted document."""

    deleted: int
    version: str


class ReembeddingRequest(StrictBody):
    """The model under which a collection is to be re-embedded."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "minilm"}]})

    model: ModelName = Field(description="A served model.")


class StepOut(BaseModel):
    """Progress of a re-embedding after one step."""

    embedded: int = Field(description="Documents that this step embedded; those changed meanwhile count as left.")
    left: int = Field(description="Documents that the next model has not embedded yet; at 0 the switch is possible.")
    version: str


class SwitchedOut(BaseModel):
    """The first version under the next model."""

    version: str


def collection_out(collection: Collection, size: CollectionSize) -> CollectionOut:
    """A collection as JSON."""
    settings, target = collection.settings, collection.reembedding
    reembedding = target and ReembeddingOut(model=target.model, space=target.space, documents_left=size.unfilled)
    return CollectionOut(
        name=collection.name,
        count=size.documents,
        truncated=size.truncated,
        version=str(collection.version),
        model=settings.model,
        space=settings.space,
        dim=settings.dim,
        measure=settings.measure,
        index=settings.index,
        tokens=settings.tokens,
        bytes_per_document=size.bytes_per_document,
        token_error=size.token_error,
        reembedding=reembedding,
    )


def document_out(document: Document) -> DocumentOut:
    """A document as JSON."""
    return DocumentOut(
        id=document.id, text=document.text, metadata=dict(document.metadata), truncated=document.truncated
    )
