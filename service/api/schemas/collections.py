"""Bodies of /collections, and of their re-embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetPydanticSchema,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from semblance.models.tokenization.passages import MAX_OVERLAP, MIN_TOKENS, Cut
from semblance.service.api.schemas.fields import (
    Measure,
    ModelName,
    Space,
    StrictBody,
    String,
    documented,
    require_one_of,
)
from semblance.service.ports.documents import Collection, CollectionSize, TokenStorage
from semblance.service.ports.indexes import AUTO
from semblance.service.usecases.collections import DEFAULT_MEASURE, PASSAGE_OVERLAP, Passages


class PassagesIn(StrictBody):
    """How documents are cut into passages."""

    tokens: int = Field(ge=MIN_TOKENS, description="Maximum of a passage, special tokens included.")
    overlap: int = Field(
        PASSAGE_OVERLAP, ge=0, le=MAX_OVERLAP, description="Sentences with which a passage repeats the one before."
    )


class CutOut(BaseModel):
    """How documents are cut into passages."""

    tokens: int
    overlap: int


class PassagesOut(CutOut):
    """How documents are cut into passages, and how many there are."""

    count: int = Field(description="Passages of all documents.")


def _passages(value: object, validate: ValidatorFunctionWrapHandler) -> Passages:
    """Take a name or an object; the errors of a union would not name its fields."""
    match value:
        case "auto" | "none":
            return value
        case Mapping():
            given: PassagesIn = validate(value)
            return Cut(given.tokens, given.overlap)
        case _:
            form = 'it must be "auto", "none", or an object such as {"tokens": 128}'
            raise PydanticCustomError("invalid_value", "{form}", {"form": form})


PassagesField = Annotated[
    Any,
    GetPydanticSchema(
        lambda _, handler: core_schema.no_info_wrap_validator_function(_passages, handler(PassagesIn)),
    ),
    WithJsonSchema({"anyOf": [{"type": "string", "enum": ["auto", "none"]}, PassagesIn.model_json_schema()]}),
]


class CollectionRequest(StrictBody):
    """Settings of a new collection; they cannot be changed later."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"measure": "cosine", "tokens": "int8"}]})

    model: ModelName | None = Field(None, description="A served model; null is the default one.")
    measure: Measure = DEFAULT_MEASURE
    index: Annotated[String, documented(known_enum="indexes")] = Field(
        AUTO, description="An index engine, or auto: by the number of documents.", examples=[AUTO, "faiss_flat"]
    )
    tokens: TokenStorage = Field("none", description="Keep token vectors as int8, so that rcmd need not encode again.")
    passages: PassagesField = Field(
        "auto",
        description="How documents are cut at the ends of sentences; auto fits the model (an existing collection keeps "
        "its own), none truncates what the model does not read.",
        examples=["auto", {"tokens": 128, "overlap": 1}],
    )


class ReembeddingOut(BaseModel):
    """The model and passages under which a collection is being re-embedded."""

    model: str
    space: Space
    passages: CutOut | None = Field(description="Null where each document is one passage.")
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
    precision: str | None = Field(
        description="Number type in which its model computed the vectors; null if an earlier release created it."
    )
    measure: str
    index: str
    tokens: TokenStorage
    passages: PassagesOut | None = Field(description="Null where each document is one passage, truncated to fit.")
    bytes_per_document: float = Field(description="Of vectors and token codes.")
    token_error: float | None = Field(description="Largest error of a score from token codes; null without them.")
    reembedding: ReembeddingOut | None = Field(description="Null unless it is being re-embedded.")


class CollectionList(BaseModel):
    """All collections, by name."""

    collections: list[CollectionOut]


class ReembeddingRequest(StrictBody):
    """The model under which a collection is to be re-embedded, or other passages, or both."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "minilm", "passages": "auto"}]})

    model: ModelName | None = Field(None, description="A served model; null is the present one.")
    passages: PassagesField | None = Field(
        None, description="How documents are cut; null as now, or shorter for a model that reads less."
    )

    _some_change = require_one_of("model", "passages", otherwise="name a model, or passages, or both")


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
    reembedding = target and ReembeddingOut(
        model=target.model,
        space=target.space,
        passages=target.cut and CutOut(**target.cut._asdict()),
        documents_left=size.unfilled,
    )
    return CollectionOut(
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
        passages=settings.cut and PassagesOut(**settings.cut._asdict(), count=size.passages),
        bytes_per_document=size.bytes_per_document,
        token_error=size.token_error,
        reembedding=reembedding,
    )
