"""/files: files that are read as documents, and what was read."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from semblance_client.vocabulary.documents import Base64
from semblance_client.vocabulary.fields import MAX_ENTRIES, Bounded, FieldName, RequestBody, String
from semblance_client.vocabulary.responses import ResponseBody

FileFormat: TypeAlias = Literal[
    "csv", "docx", "html", "json", "jsonl", "lines", "markdown", "parquet", "pdf", "rst", "text", "tsv"
]
MAX_FILES = 1000

_CSV = "c3ViamVjdDtib2R5CkhvdXJzO1doZW4gYXJlIHlvdSBvcGVuIG9uIFN1bmRheXM/Cg=="


class SentFile(RequestBody):
    """A file to read."""

    name: Annotated[String, Field(min_length=1, max_length=1024, examples=["notes/a.md"])]
    """Its name, which may have folders; the suffix tells its format."""
    content: Base64
    """Its bytes, in base64."""


class FilesRequest(RequestBody):
    """Files to read as documents, and how to read them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"files": [{"name": "hours.csv", "content": _CSV}]}]})

    files: Annotated[list[SentFile], Bounded] = Field(min_length=1, max_length=MAX_FILES)
    """Files to read."""
    format: FileFormat | None = None
    """Of all files; by default, the suffix of each tells it."""
    encoding: Annotated[String, Field(max_length=40, examples=["cp1252"])] | None = None
    """Of their text; by default, their bytes tell it."""
    separator: Annotated[String, Field(min_length=1, max_length=1, examples=[";"])] | None = None
    """Of the fields of CSV; by default, the first line tells it."""
    text_fields: Annotated[list[FieldName], Field(max_length=MAX_ENTRIES)] = Field(default_factory=list)
    """Fields that make the text, joined by spaces; by default `title` and `text`, or without a `text` a guess."""
    id_field: FieldName | None = None
    """Field of the id; by default `id` or `_id`, or without a `text` a guess."""


class FileDocument(ResponseBody):
    """A document of a file, as it can be stored."""

    place: str
    """Where it is, such as `line 2` or `page 3`."""
    id: Any
    """Its id in the file; null if it has none."""
    text: str | None
    """The text."""
    metadata: dict[str, Any]
    """The other fields."""


class FileProblem(ResponseBody):
    """Why a row is not a document, or a file cannot be read."""

    place: str
    """Where it is; empty for the whole file."""
    code: str
    """Stable; programs may rely on it."""
    detail: str
    """Description of the problem."""


class FileContent(ResponseBody):
    """Documents and problems of a file, and how it was read."""

    name: str
    """Name of the file."""
    format: FileFormat | None
    """Format in which it was read; null if it could not be."""
    encoding: str | None
    """Null where the format has its own."""
    separator: str | None
    """Separator of the fields of a table; null in other formats."""
    columns: list[str] | None
    """Of a table."""
    unnamed: list[int]
    """Numbers of columns that have values but no name, which are left out."""
    text_fields: list[str]
    """Fields that were named or guessed."""
    id_field: str | None
    """Field that the ids are from; null if there is none."""
    documents: list[FileDocument]
    """The documents in it."""
    problems: list[FileProblem]
    """Rows that cannot be documents, with the reasons."""


class FilesRead(ResponseBody):
    """The content of files, in the order of the request."""

    files: list[FileContent]
    """The files that were read, in the order of the request."""
