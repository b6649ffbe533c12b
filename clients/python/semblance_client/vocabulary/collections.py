"""/collections: settings and sizes of collections, and their re-embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import (
    ConfigDict,
    Field,
    GetPydanticSchema,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from semblance_client.vocabulary.fields import (
    FieldName,
    Measure,
    ModelName,
    RequestBody,
    String,
    documented,
    require_one_of,
)
from semblance_client.vocabulary.responses import ResponseBody, Space

MIN_PASSAGE_TOKENS = 16  # special tokens and a prompt take some of them
MAX_OVERLAP = 10  # sentences
MAX_TEXT_FIELDS = 10
TEXT = "text"  # name of the text itself among text fields

TokenStorage: TypeAlias = Literal["int8", "none"]


class PassageSizes(RequestBody):
    """The sizes of passages."""

    tokens: int = Field(ge=MIN_PASSAGE_TOKENS)
    """Maximum of a passage, special tokens included."""
    overlap: int = Field(1, ge=0, le=MAX_OVERLAP)
    """Sentences with which a passage repeats the one before."""


Passages: TypeAlias = PassageSizes | Literal["auto", "none"]


def _passages(value: object, validate: ValidatorFunctionWrapHandler) -> Passages:
    """Take a name or an object; the errors of a union would not name its fields."""
    match value:
        case "auto" | "none":
            return value
        case Mapping() | PassageSizes():
            sizes: PassageSizes = validate(value)
            return sizes
        case _:
            form = 'it must be "auto", "none", or an object such as {"tokens": 128}'
            raise PydanticCustomError("invalid_value", "{form}", {"form": form})


PassagesField = Annotated[
    Passages,
    GetPydanticSchema(
        lambda _, handler: core_schema.no_info_wrap_validator_function(_passages, handler(PassageSizes)),
    ),
    WithJsonSchema({"anyOf": [{"type": "string", "enum": ["auto", "none"]}, PassageSizes.model_json_schema()]}),
]


class CollectionRequest(RequestBody):
    """Settings of a new collection; they cannot be changed later."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"measure": "cosine", "tokens": "int8"}]})

    model: ModelName | None = None
    """A served model; null is the default one."""
    measure: Measure = "cosine"
    index: Annotated[String, documented(known_enum="indexes")] = Field("auto", examples=["auto", "faiss_flat"])
    """An index engine, or auto: by the number of documents."""
    tokens: TokenStorage = "none"
    """Keep token vectors as int8, so that rcmd need not encode again."""
    passages: PassagesField = Field("auto", examples=["auto", {"tokens": 128, "overlap": 1}])
    """Passages, cut at the ends of sentences; auto fits the model (an existing collection keeps its own), none
    truncates what the model does not read."""
    text_fields: list[FieldName] = Field(default_factory=list, max_length=MAX_TEXT_FIELDS, examples=[["title"]])
    """Metadata fields whose strings are searched beside the text, as passages of their own."""

    @model_validator(mode="after")
    def _distinct_fields(self) -> Self:
        if TEXT in self.text_fields or len(set(self.text_fields)) < len(self.text_fields):
            raise PydanticCustomError("invalid_value", "text_fields must be different, and none of them text")
        if self.text_fields and self.passages == "none":
            raise PydanticCustomError("invalid_value", "text_fields are passages: passages must not be none")
        return self


class ReembeddingRequest(RequestBody):
    """The model under which a collection is to be re-embedded, or other passages, or both."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "minilm", "passages": "auto"}]})

    model: ModelName | None = None
    """A served model; null is the present one."""
    passages: PassagesField | None = None
    """Passages of documents; null as now, or shorter for a model that reads less."""

    _some_change = require_one_of("model", "passages", otherwise="name a model, or passages, or both")


class PassageCut(ResponseBody):
    """The cut of documents into passages."""

    tokens: int
    """Most tokens of a passage."""
    overlap: int
    """Tokens that a passage shares with the one before."""


class PassageCount(PassageCut):
    """The cut of documents into passages, and their number."""

    count: int
    """Passages of all documents."""


class ReembeddingState(ResponseBody):
    """The model and passages under which a collection is being re-embedded."""

    model: str
    """The model to which the collection moves."""
    space: Space
    passages: PassageCut | None
    """Null where each document is one passage."""
    documents_left: int
    """Documents that it has not embedded yet."""


class Collection(ResponseBody):
    """A collection and its size."""

    name: str
    """Name of the collection."""
    count: int
    """Documents in it."""
    truncated: int
    """Documents among them whose text is longer than the model reads."""
    version: str
    """State of the collection; it changes with every write."""
    model: str
    """Model whose vectors it has."""
    space: Space
    dim: int
    """Number of dimensions of a vector."""
    precision: str | None
    """Number type in which its model computed the vectors; null if an earlier release created it."""
    measure: str
    """Measure of its searches."""
    index: str
    """Index engine."""
    tokens: Annotated[str, documented(enum=["int8", "none"])]
    """Whether token codes are kept, which measures of tokens need for fast searches."""
    passages: PassageCount | None
    """Null where each document is one passage, truncated to fit."""
    text_fields: list[str] = Field(default_factory=list)
    """Metadata fields whose strings are searched beside the text."""
    bytes_per_document: float
    """Of vectors and token codes."""
    token_error: float | None
    """Largest error of a score from token codes; null without them."""
    reembedding: ReembeddingState | None
    """Null unless it is being re-embedded."""


class CollectionList(ResponseBody):
    """All collections, by name."""

    collections: list[Collection]
    """All collections, by name."""


class ReembeddingStep(ResponseBody):
    """Progress of a re-embedding after one step."""

    embedded: int
    """Documents that this step embedded; those changed meanwhile count as left."""
    left: int
    """Documents that the next model has not embedded yet; at 0 the switch is possible."""
    version: str
    """Version of the collection, for `min_version` and `if_version`."""


class SwitchedVersion(ResponseBody):
    """The first version under the next model."""

    version: str
    """Version of the collection, for `min_version` and `if_version`."""
