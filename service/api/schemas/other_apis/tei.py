"""Bodies of the routes of Text Embeddings Inference (TEI), and of Ollama's /api/embed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.fields import (
    MAX_ENTRIES,
    AtMostTexts,
    Bounded,
    ModelName,
    RequestBody,
    String,
    Text,
    alternative,
    keywords,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.similarity import EXAMPLES, FORMS, SimilarityRequest

from semblance.models.text import Role, Truncate
from semblance.service.api.schemas.other_apis.embeddings import Input, role_of

Direction = Annotated[
    Literal["left", "right"],
    BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
    WithJsonSchema({"type": "string", "pattern": "^([Ll]eft|[Rr]ight)$"}),
]


class TruncationFields(RequestBody):
    """What TEI's requests say of long texts. Fields that are not listed are ignored."""

    model_config = ConfigDict(extra="ignore")

    truncate: bool | None = Field(None, description="False refuses longer texts; by default they are truncated.")
    truncation_direction: Direction | None = Field(None, description="The end at which they are.")
    prompt_name: String | None = Field(None, description="`document` or `passage` for documents, else queries.")

    @property
    def end(self) -> Truncate:
        """The end at which long texts are truncated."""
        if self.truncate is False:
            return "NONE"
        return "START" if self.truncation_direction == "left" else "END"

    @property
    def role(self) -> Role:
        """The role of the texts."""
        return role_of(self.prompt_name)


class TeiTexts(TruncationFields):
    """A text, or a list of texts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": "A kitten naps.", "prompt_name": "query"}]})

    inputs: Input


class TeiEmbedRequest(TeiTexts):
    """A text, or a list of texts, and what their vectors should be."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": ["A cat.", "A dog."], "truncate": True}]})

    normalize: bool | None = Field(None, description="False returns the vectors as the model has them.")
    dimensions: int | None = Field(None, ge=1, description="Keep only the first ones.")


class TeiSource(RequestBody):
    """A text, and texts to compare it with."""

    model_config = ConfigDict(extra="ignore")

    source_sentence: Text
    sentences: Annotated[list[Text], Bounded, AtMostTexts] = Field(min_length=1)


class SimilarityOrTeiRequest(SimilarityRequest):
    """Either `pairs`, or `left` and `right` for a matrix; `inputs` is TEI's form."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                *EXAMPLES,
                {"inputs": {"source_sentence": "A man is playing a guitar.", "sentences": ["It rains."]}},
            ],
            "allOf": one_of(
                alternative({"pairs": "array"}, "left", "right", "inputs"),
                alternative({"left": "array", "right": "array"}, "pairs", "inputs", explain=False),
                alternative({"inputs": "object"}, "pairs", "left", "right", explain=False),
            ),
        },
    )

    inputs: TeiSource | None = None
    """TEI's form, answered by a list of scores."""
    parameters: TruncationFields | None = None
    """Of TEI's form."""

    _known_form = require_one_of("pairs", "left", "right", "inputs", otherwise=FORMS)

    def _require_one_form(self) -> None:
        if self.inputs is None:
            super()._require_one_form()
        elif self.pairs is not None or self.left is not None or self.right is not None:
            raise PydanticCustomError("invalid_request", FORMS)
        elif self.explain:
            raise PydanticCustomError("invalid_request", "explain needs pairs")


_TEXTS: TypeAdapter[list[str]] = TypeAdapter(Input, config=ConfigDict(strict=True))


def _texts_or_source(value: object) -> object:
    return TeiSource.model_validate(value) if isinstance(value, dict) else _TEXTS.validate_python(value)


class TeiRootRequest(TeiEmbedRequest):
    """Texts to embed, or a text and those to compare it with."""

    inputs: Annotated[Any, PlainValidator(_texts_or_source)]
    parameters: TruncationFields | None = None


class TeiTokenizeRequest(RequestBody):
    """A text, or a list of texts, to tokenize."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"examples": [{"inputs": "A kitten naps."}]})

    inputs: Input
    add_special_tokens: bool | None = Field(None, description="False leaves special tokens and prompts out.")
    prompt_name: String | None = None

    @property
    def role(self) -> Role:
        """The role of the texts."""
        return role_of(self.prompt_name)


class TeiToken(BaseModel):
    """A token, with its place in the text in Unicode code points unless it is special."""

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None


Ids = Annotated[list[int], Field(min_length=1)]
_IDS = {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": MAX_ENTRIES}


def _lists(value: object) -> object:
    """A list of ids as a list of one list."""
    return [value] if isinstance(value, list) and value and all(isinstance(each, int) for each in value) else value


class TeiDecodeRequest(RequestBody):
    """Token ids, or a list of lists of them."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"examples": [{"ids": [101, 1037, 4937, 102]}]})

    ids: Annotated[
        list[Annotated[Ids, Bounded]],
        Field(min_length=1),
        Bounded,
        BeforeValidator(_lists),
        WithJsonSchema({"anyOf": [_IDS, keywords(type="array", items=_IDS, minItems=1, known_maxItems="max_texts")]}),
    ]
    skip_special_tokens: bool | None = None


class TeiPooling(BaseModel):
    """How the vector of a text is made of those of its tokens."""

    pooling: str


class TeiModelType(BaseModel):
    """The kind of the model."""

    embedding: TeiPooling


class TeiInfo(BaseModel):
    """The default model and the limits of this process."""

    model_id: str
    model_sha: str | None = None
    model_dtype: Literal["float32"] = Field("float32", description="Of the vectors; the network may use bfloat16.")
    served_model_name: str
    model_type: TeiModelType
    max_concurrent_requests: int
    max_input_length: int
    max_batch_tokens: int
    max_batch_requests: int | None = None
    max_client_batch_size: int
    auto_truncate: Literal[True] = True
    tokenization_workers: int = 1
    version: str


class OllamaEmbedRequest(RequestBody):
    """Texts to embed, as Ollama's API has them. Fields that are not listed are ignored."""

    model_config = ConfigDict(
        extra="ignore", json_schema_extra={"examples": [{"model": "minilm-words", "input": ["A cat.", "A dog."]}]}
    )

    model: ModelName
    input: Input
    truncate: bool | None = Field(None, description="False refuses longer texts; by default they are truncated.")
    dimensions: int | None = Field(None, ge=1, description="Keep only the first ones.")


class OllamaEmbedResponse(BaseModel):
    """Vectors at unit length; times are in nanoseconds."""

    model: str
    embeddings: list[list[float]]
    total_duration: int
    load_duration: int
    prompt_eval_count: int
