"""/collections/{name}/documents: documents to store, and stored ones."""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.fields import (
    MAX_FIELDS,
    TEXT_PATTERN,
    AtMostDocuments,
    Bounded,
    DocumentId,
    MetadataObject,
    NamedDocument,
    RequestBody,
    String,
    VersionText,
    documented,
)
from semblance_client.vocabulary.responses import RequestWarning, ResponseBody, Space, Usage, Warnings, row


def _decoded(value: object) -> bytes:
    try:
        return b64decode(value if isinstance(value, str) else "?", validate=True)
    except ValueError as error:  # also of other characters than ASCII
        raise PydanticCustomError("invalid_value", "it must be a string in base64") from error


Base64: TypeAlias = Annotated[
    Any,
    PlainValidator(_decoded),
    WithJsonSchema({"type": "string", "contentEncoding": "base64", "examples": ["AACAPw=="]}),
]


class GivenEmbedding(RequestBody):
    """The embedding of a document, by an encoder of the same space as the collection's."""

    space: Space
    vector: Base64
    """Its vector at unit length, as float32 in little-endian order, in base64."""
    codes: Base64 | None = None
    """Its token codes in base64, where the collection keeps them."""
    code_error: float = Field(0.0, ge=0, le=2, allow_inf_nan=False)
    """Largest error of a cosine by the codes."""


class NewDocument(RequestBody):
    """A document to store."""

    id: DocumentId
    """Id of the document."""
    text: Annotated[String, documented(minLength=1, pattern=TEXT_PATTERN)]
    """The text."""
    metadata: MetadataObject = Field(default_factory=dict)
    """Fields of any names, by which searches filter, sort and count."""
    embedding: GivenEmbedding | None = None
    """As `semblance embed` makes it, so that the text is not encoded again; see docs/batches.md."""


class ConditionalDocument(NewDocument):
    """A document to store, if it has not changed."""

    if_version: VersionText = None
    """Store it only if it has not changed since this version of the collection; else 409."""


class IfSimilar(RequestBody):
    """Which stored documents to report beside those that were sent."""

    min_score: float = Field(allow_inf_nan=False)
    """Least cosine."""
    most: int = Field(3, ge=1, le=100)
    """Most of them for each document, the most similar first."""


class DocumentsRequest(RequestBody):
    """Documents to store together, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"id": "1", "text": "A text.", "metadata": {"lang": "en"}}]}]},
    )

    documents: Annotated[list[ConditionalDocument], Bounded, AtMostDocuments] = Field(min_length=1)
    """Documents to store."""
    if_similar: IfSimilar | None = None
    """Report documents that are as similar as this. All are stored; none is dropped."""


class SimilarDocument(ResponseBody):
    """A document that was stored, and a similar one of the collection, with their cosine."""

    id: str
    """Id of the document that was stored."""
    like: str
    """Id of the similar document of the collection."""
    score: float
    """Their cosine."""


class Stored(ResponseBody):
    """Number of stored documents, and the version of the collection that has them."""

    upserted: int
    """Number of stored documents."""
    version: str
    """Version of the collection, for `min_version` and `if_version`."""
    truncated: list[str]
    """Ids of documents whose text is longer than the model reads."""
    similar: list[SimilarDocument] | None = None
    """Null unless `if_similar` asked, and while this replica lags behind."""
    warnings: Warnings
    usage: Usage
    """Cost of the request."""


class RejectedLine(ResponseBody):
    """A line of NDJSON that was not stored."""

    line: int
    pointer: str
    """JSON pointer into the line's document."""
    code: str
    detail: str


class LineWarning(RequestWarning):
    """A warning about a line of NDJSON that was stored; its pointer is into the line's document."""

    line: int


class StoredLines(ResponseBody):
    """A batch of NDJSON on disk: each line up to `through_line` is stored or listed as rejected."""

    through_line: int
    upserted: int
    version: str | None
    """Null if all of the batch was rejected."""
    truncated: list[str]
    errors: list[RejectedLine]
    warnings: list[LineWarning]


class UploadDone(ResponseBody):
    """Last line of the response to NDJSON that was read to its end."""

    done: Literal[True] = True
    upserted: int
    failed: int
    version: str | None


class UploadBroken(ResponseBody):
    """Last line of a failed upload: lines after `through_line` were not stored."""

    done: Literal[False] = False
    error: str
    """A code of the table of errors."""
    detail: str
    through_line: int


class Document(ResponseBody):
    """A document to store."""

    id: str
    """Id of the document."""
    text: str
    """The text."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields of any names, by which searches filter, sort and count."""

    def record(self) -> dict[str, JsonValue]:
        """Id, text and metadata as one row of a table, such as of `pandas.DataFrame`."""
        return row({"id": self.id, "text": self.text}, self.metadata)


class StoredDocument(Document):
    """A document as it is stored."""

    truncated: bool
    """Whether its text is longer than the model reads."""


class ReadDocument(StoredDocument):
    """A stored document, and the version of its collection when it was read."""

    version: str
    """Send it as `if_version` with a change, and as `min_version` with a search."""


class DocumentPage(ResponseBody):
    """A page of documents by id."""

    documents: list[StoredDocument]
    """Documents in the order that was asked for."""
    cursor: str | None
    """Asks for the next page; null on the last."""


class MetadataChange(RequestBody):
    """Metadata of a document to set, and to remove."""

    id: NamedDocument
    """Id of the document."""
    metadata: MetadataObject = Field(default_factory=dict)
    """Fields to set; all others stay."""
    remove: list[String] = Field(default_factory=list, max_length=MAX_FIELDS)
    """Fields to remove."""
    if_version: VersionText = None
    """As with a document to store."""

    @model_validator(mode="after")
    def _some_change(self) -> Self:
        if not self.metadata and not self.remove:
            raise PydanticCustomError("invalid_request", "give metadata to set, or fields to remove")
        if both := sorted(self.metadata.keys() & set(self.remove)):
            raise PydanticCustomError("invalid_value", "{field} is both set and removed", {"field": repr(both[0])})
        return self


class MetadataRequest(RequestBody):
    """Changes of the metadata of some documents, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"id": "1", "metadata": {"state": "new"}, "remove": ["due"]}]}]},
    )

    documents: Annotated[list[MetadataChange], Bounded, AtMostDocuments] = Field(min_length=1)
    """Changes, each of another document."""


class Changed(ResponseBody):
    """Number of documents, and the version with their metadata."""

    changed: int
    """Number of changed documents."""
    version: str
    """Version of the collection, for `min_version` and `if_version`."""


class Deleted(ResponseBody):
    """The version without the deleted documents."""

    deleted: int
    """Number of deleted documents."""
    version: str
    """Version of the collection, for `min_version` and `if_version`."""
    warnings: Warnings = Field(default_factory=list)
