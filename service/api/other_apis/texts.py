"""Fields that several APIs have: texts or lists of texts, token ids, roles, truncation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args, overload

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.fields import (
    MAX_ENTRIES,
    TEXT_PATTERN,
    Bounded,
    RequestBody,
    String,
    documented,
    keywords,
)

from semblance.models.errors import MissingExtra
from semblance.models.protocols import TokenDecoder
from semblance.models.text import Role, Truncate
from semblance.models.tokenization.openai import openai_tokens
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.model_loading.registry import LazyModels
from semblance.service.turns import Offload, in_thread
from semblance.service.usecases.request_fields import require_at_most
from semblance.service.usecases.text_embedder import InputText, Truncation


def _no_zero(tokens: int | None) -> int | None:
    """A number of tokens to keep. Raises PydanticCustomError: it is 0."""
    if tokens == 0:
        raise PydanticCustomError("invalid_value", "no token would be left: give a positive number, or -1")
    return tokens


BLANK = " "  # read in place of an empty text, where an API takes those
MODEL_LIMIT = -1  # of `truncate_prompt_tokens`: the maximum of the model
TruncatePromptTokens = Annotated[
    Annotated[int, Field(ge=MODEL_LIMIT)] | None,
    AfterValidator(_no_zero),
    Field(
        description="vLLM's: truncate each text to its last tokens, special ones included; -1 to what the model reads."
    ),
]
TruncationSide = Annotated[
    Literal["left", "right"] | None,
    Field(description="vLLM's: the side at which `truncate_prompt_tokens` removes tokens; null is left."),
]

DOCUMENT_TYPES = ("document", "passage", "search_document")  # Voyage, NVIDIA, Cohere; Jina's end in ".passage"

_NO_TABLE = (
    "this service cannot read the token ids of OpenAI's models; send texts (in LangChain: "
    "OpenAIEmbeddings(check_embedding_ctx_length=False)), or have its operator install the extra openai-tokens"
)

_offload = Offload()


def one_as_list(value: object) -> object:
    """One text as a list of one."""
    return [value] if isinstance(value, str) else value


def is_ids(value: object) -> bool:
    """Whether a value is a list of integers."""
    return isinstance(value, list) and bool(value) and all(isinstance(id_, int) for id_ in value)


def _require_list(value: object, *entries: str) -> None:
    if not isinstance(value, str | list):
        raise PydanticCustomError("invalid_value", f"it must be a string or a list of {' or '.join(entries)}")


def strings(value: object) -> object:
    """One text or several as a list; token ids are rejected."""
    _require_list(value, "strings")
    if isinstance(value, list) and value and all(isinstance(entry, int | list) for entry in value):
        raise PydanticCustomError("token_arrays_not_supported", "token ids are not read here; send texts")
    return one_as_list(value)


def text_of(value: object) -> object:
    """The text of an object with the field text, as Jina's API has it."""
    return value["text"] if isinstance(value, dict) and isinstance(value.get("text"), str) else value


def _texts_of_objects(value: object) -> object:
    return list(map(text_of, value)) if isinstance(value, list) else text_of(value)


def _entries(value: object) -> object:
    """A list of texts and lists of token ids."""
    _require_list(value, "strings", "token ids")
    return [value] if is_ids(value) else one_as_list(value)


def _entry(value: object) -> object:
    return _IDS.validate_python(value) if isinstance(value, list) else _TEXT.validate_python(value)


STRING = keywords(type="string", known_maxLength="max_text_chars")
TEXT = keywords(type="string", minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")
NONEMPTY = TEXT | {"pattern": r"^[^\x00]*$"}
TEXT_LIST = keywords(type="array", items=TEXT, minItems=1, known_maxItems="max_texts")
TEXT_OBJECT = {"type": "object", "properties": {"text": TEXT}, "required": ["text"]}

IDS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": MAX_ENTRIES}
ID_LISTS = keywords(type="array", items=IDS, minItems=1, known_maxItems="max_texts")
_ENTRIES = keywords(type="array", items={"anyOf": [NONEMPTY, IDS]}, minItems=1, known_maxItems="max_texts")

Ids = Annotated[list[int], Field(min_length=1), Bounded]
_IDS: TypeAdapter[list[int]] = TypeAdapter(Ids, config=ConfigDict(strict=True))
_TEXT: TypeAdapter[str] = TypeAdapter(String, config=ConfigDict(strict=True))

Input = Annotated[
    list[String],
    Field(min_length=1),
    Bounded,
    BeforeValidator(strings),
    WithJsonSchema({"anyOf": [NONEMPTY, TEXT_LIST | {"items": NONEMPTY}]}),
]
TextsOrIds = Annotated[
    list[Annotated[str | list[int], PlainValidator(_entry)]],
    Field(min_length=1),
    Bounded,
    BeforeValidator(_entries),
    WithJsonSchema({"anyOf": [NONEMPTY, _ENTRIES, IDS]}),
]
_OBJECTS = TEXT_LIST | {"items": {"anyOf": [NONEMPTY, TEXT_OBJECT, IDS]}}
TextsIdsOrObjects = Annotated[
    TextsOrIds, BeforeValidator(_texts_of_objects), WithJsonSchema({"anyOf": [NONEMPTY, TEXT_OBJECT, _OBJECTS, IDS]})
]
TruncateOrFlag = Annotated[
    Truncate | None,
    BeforeValidator(lambda value: end_if(value, None) if isinstance(value, bool) else value),
    WithJsonSchema({"anyOf": [{"enum": [*get_args(Truncate)]}, {"type": "boolean"}, {"type": "null"}]}),
]
Decode: TypeAlias = Callable[[Sequence[int]], str]
"""The text of token ids. Raises ValueError: an id is unknown."""
RankingModelName = Annotated[
    String,
    Field(description="A name that GET /v1/models lists, such as one of a rerank model, or `model@measure`."),
    documented(known_pattern="ranking_model", examples=["minilm-graded", "minilm@cosine"]),
]
ModelChoiceName = Annotated[
    String,
    Field(description="A name that GET /v1/models lists, or `model@measure`; null is the default model."),
    documented(known_pattern="model_choice", examples=["minilm-graded", "minilm@cosine"]),
]


def _only(value: bool) -> BeforeValidator:
    """Reject all but one boolean: a literal type would accept 0 for false."""

    def check(given: object) -> object:
        if given is not value:
            raise PydanticCustomError("invalid_value", "only {value} is supported", {"value": str(value).lower()})
        return given

    return BeforeValidator(check)


OnlyFalse: TypeAlias = Annotated[Literal[False], _only(False)]
OnlyTrue: TypeAlias = Annotated[Literal[True], _only(True)]


class LenientBody(RequestBody):
    """A request body of another API. Fields that it does not list, such as `user`, are ignored.

    It lists those that would change the response and are not served, with the values that are.
    """

    model_config = ConfigDict(extra="ignore")


class VllmFields(LenientBody):
    """Fields of vLLM of which only the default is served."""

    add_special_tokens: OnlyTrue | None = None
    """Only true: special tokens are always added."""
    padding: Literal["do_not_pad"] | None = None
    """Changes nothing."""
    mm_processor_kwargs: None = None
    """Not supported: leave it out."""
    messages: None = None
    """Not supported: leave it out."""


class VllmTruncation(VllmFields):
    """Fields of vLLM that limit what is read of a text."""

    truncate_prompt_tokens: TruncatePromptTokens = None
    truncation_side: TruncationSide = None

    def truncation_or(self, otherwise: Truncate | None) -> Truncation:
        """The truncation of the texts; `otherwise` without these fields."""
        if self.truncate_prompt_tokens is None:
            return Truncation(otherwise)
        end: Truncate = "END" if self.truncation_side == "right" else "START"
        return Truncation(end, None if self.truncate_prompt_tokens == MODEL_LIMIT else self.truncate_prompt_tokens)


def at_most_one(*names: str) -> Any:
    """Validator of a body in which at most one of these fields is given."""

    def check(body: LenientBody) -> LenientBody:
        given = [name for name in names if getattr(body, name) is not None]
        if len(given) > 1:
            raise PydanticCustomError("invalid_request", "{given}", {"given": f"give either {' or '.join(given)}"})
        return body

    return model_validator(mode="after")(check)


def input_texts(field: str, texts: Sequence[str], most: int) -> list[InputText]:
    """The texts of a field of a request. Raises InvalidRequest: they are more than `most`."""
    require_at_most(f"/{field}", len(texts), most, "texts")
    return [InputText(text, f"/{field}/{i}") for i, text in enumerate(texts)]


async def decoded_texts(
    field: str, entries: Sequence[str | list[int]], most: int, decoder: Callable[[], Awaitable[Decode]]
) -> list[InputText]:
    """The texts of a field of a request, of which some may be token ids.

    Args:
        field: its name.
        entries: texts and lists of token ids.
        most: most of both.
        decoder: finds out how to decode ids, if there are any.

    Raises:
        InvalidRequest: they are more than `most`, or have unknown ids.
    """
    require_at_most(f"/{field}", len(entries), most, "texts")
    texts = [entry for entry in entries if isinstance(entry, str)]
    if len(texts) < len(entries):
        decode = await decoder()
        size = sum(map(len, entries))
        texts = await _offload.run("decode", size, lambda: _decoded(field, entries, decode))
    return input_texts(field, texts, most)


def _decoded(field: str, entries: Sequence[str | list[int]], decode: Decode) -> list[str]:
    texts, problems = list[str](), list[Problem]()
    for i, entry in enumerate(entries):
        try:
            texts.append(entry if isinstance(entry, str) else decode(entry))
        except ValueError as error:
            problems.append(Problem(f"/{field}/{i}", "out_of_range", str(error)))
        else:
            if "\0" in texts[-1]:
                problems.append(Problem(f"/{field}/{i}", "ill_formed_text", "it contains a NUL character"))
    if problems:
        raise InvalidRequest(problems)
    return texts


async def openai_decoder() -> Decode:
    """Decode ids of OpenAI's embedding models. Raises InvalidRequest: no table."""
    try:
        tokens = await in_thread(openai_tokens)
    except MissingExtra as error:
        raise InvalidRequest([Problem("/input", "token_arrays_not_supported", _NO_TABLE)]) from error
    return tokens.decode


async def own_decoder(models: LazyModels, field: str, name: str | None = None) -> Decode:
    """Decode ids of a served model, without special tokens. Raises InvalidRequest: it has none."""
    encoder = await models.get(name)
    if not isinstance(encoder, TokenDecoder):
        detail = f"{encoder.name} has words instead of token ids; send texts"
        raise InvalidRequest([Problem(f"/{field}", "token_arrays_not_supported", detail)])
    return lambda ids: encoder.decode([ids], skip_special_tokens=True)[0]


def role_of(*types: str | None) -> Role:
    """The role of texts, as the APIs of this field name types; documents if any says so.

    >>> role_of("search_document"), role_of("search_query"), role_of("classification"), role_of(None)
    ('document', 'query', 'query', 'query')
    >>> role_of("retrieval.passage"), role_of("retrieval", "passage")
    ('document', 'document')
    """
    return "document" if any(name and name.rpartition(".")[2] in DOCUMENT_TYPES for name in types) else "query"


@overload
def end_if(truncate: bool | None, default: Truncate) -> Truncate: ...
@overload
def end_if(truncate: bool | None, default: None) -> Truncate | None: ...
def end_if(truncate: bool | None, default: Truncate | None) -> Truncate | None:
    """The end at which long texts are truncated, by whether they are.

    >>> end_if(True, "NONE"), end_if(False, "END"), end_if(None, "END")
    ('END', 'NONE', 'END')
    """
    if truncate is None:
        return default
    return "END" if truncate else "NONE"
