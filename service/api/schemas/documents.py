"""Bodies of /collections/{name}/documents."""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from semblance.service.api.schemas.fields import (
    MAX_FIELDS,
    TEXT_PATTERN,
    Bounded,
    DocumentId,
    MetadataObject,
    NamedDocument,
    Space,
    StrictBody,
    String,
    Usage,
    VersionText,
    documented,
)
from semblance.service.api.schemas.warnings import WarningOut, Warnings
from semblance.service.ports.documents import Document, EmbeddedDocument, GivenEmbedding


def _decoded(value: object) -> bytes:
    try:
        return b64decode(value if isinstance(value, str) else "?", validate=True)
    except ValueError as error:  # also of other characters than ASCII
        raise PydanticCustomError("invalid_value", "it must be a string in base64") from error


Base64 = Annotated[
    Any,
    PlainValidator(_decoded),
    WithJsonSchema({"type": "string", "contentEncoding": "base64", "examples": ["AACAPw=="]}),
]


class EmbeddingIn(StrictBody):
    """The embedding of a document, by an encoder of the same space as the collection's."""

    space: Space
    vector: Base64 = Field(description="Its vector at unit length, as float32 in little-endian order, in base64.")
    codes: Base64 | None = Field(None, description="Its token codes in base64, where the collection keeps them.")
    code_error: float = Field(
        0.0, ge=0, le=2, allow_inf_nan=False, description="Largest error of a cosine by the codes."
    )


class DocumentIn(StrictBody):
    """A document to store."""

    id: DocumentId
    text: Annotated[String, documented(minLength=1, pattern=TEXT_PATTERN)]
    metadata: MetadataObject = Field(default_factory=dict)
    embedding: EmbeddingIn | None = Field(
        None, description="As `semblance embed` makes it, so that the text is not encoded again; see docs/batches.md."
    )

    def document(self) -> Document:
        """The document."""
        if self.embedding is None:
            return Document(self.id, self.text, self.metadata)
        own = self.embedding
        given = GivenEmbedding(own.space, own.vector, own.codes, own.code_error)
        return EmbeddedDocument(self.id, self.text, self.metadata, given=given)


class ConditionalDocumentIn(DocumentIn):
    """A document to store, if it has not changed."""

    if_version: VersionText | None = Field(
        None, description="Store it only if it has not changed since this version of the collection; else 409."
    )


class IfSimilar(StrictBody):
    """Which stored documents to report beside those that were sent."""

    min_score: float = Field(allow_inf_nan=False, description="Least cosine.")
    most: int = Field(3, ge=1, le=100, description="Most of them for each document, the most similar first.")


class DocumentsRequest(StrictBody):
    """Documents to store together, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"id": "1", "text": "A text.", "metadata": {"lang": "en"}}]}]},
    )

    documents: Annotated[list[ConditionalDocumentIn], Bounded, documented(known_maxItems="max_documents")] = Field(
        min_length=1
    )
    if_similar: IfSimilar | None = Field(
        None, description="Report documents that are as similar as this. All are stored; none is dropped."
    )


class SimilarOut(BaseModel):
    """A document that was stored, and a similar one of the collection."""

    id: str
    like: str
    score: float


class DocumentsResponse(BaseModel):
    """Number of stored documents, and the version that contains them."""

    upserted: int
    version: str
    truncated: list[str] = Field(description="Ids of documents whose text was truncated to fit the model.")
    similar: list[SimilarOut] | None = Field(
        None, description="Null unless `if_similar` asked, and while this replica lags behind."
    )
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


class MetadataIn(StrictBody):
    """Metadata of a document to set, and to remove."""

    id: NamedDocument
    metadata: MetadataObject = Field(default_factory=dict, description="Fields to set; all others stay.")
    remove: list[String] = Field(default_factory=list, max_length=MAX_FIELDS, description="Fields to remove.")
    if_version: VersionText | None = Field(None, description="As with a document to store.")

    @model_validator(mode="after")
    def _some_change(self) -> Self:
        if not self.metadata and not self.remove:
            raise PydanticCustomError("invalid_request", "give metadata to set, or fields to remove")
        if both := sorted(self.metadata.keys() & set(self.remove)):
            raise PydanticCustomError("invalid_value", "{field} is both set and removed", {"field": repr(both[0])})
        return self


class MetadataRequest(StrictBody):
    """Changes of the metadata of some documents, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"id": "1", "metadata": {"state": "new"}, "remove": ["due"]}]}]},
    )

    documents: Annotated[list[MetadataIn], Bounded, documented(known_maxItems="max_documents")] = Field(min_length=1)


class MetadataChanged(BaseModel):
    """Number of documents, and the version with their metadata."""

    changed: int
    version: str


class Deleted(BaseModel):
    """The version without the deleted documents."""

    deleted: int
    version: str


def document_out(document: Document) -> DocumentOut:
    """A document as JSON."""
    return DocumentOut(
        id=document.id, text=document.text, metadata=dict(document.metadata), truncated=document.truncated
    )
