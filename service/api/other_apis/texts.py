"""Fields that several APIs have: texts or lists of texts, roles, encodings of vectors."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainValidator, TypeAdapter, WithJsonSchema
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.fields import (
    MAX_ENTRIES,
    TEXT_PATTERN,
    Bounded,
    RequestBody,
    String,
    Text,
    documented,
    keywords,
)

from semblance.models.embeddings import Floats
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


EncodingFormat: TypeAlias = Literal["float", "base64"]

MODEL_LIMIT = -1  # of `truncate_prompt_tokens`: as many tokens as the model reads
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

DOCUMENT_TYPES = ("document", "passage", "search_document", "retrieval.passage")  # Voyage, NVIDIA, Cohere, Jina

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


def _entries(value: object) -> object:
    """A list of texts and lists of token ids."""
    _require_list(value, "strings", "token ids")
    return [value] if is_ids(value) else one_as_list(value)


def _entry(value: object) -> object:
    return _IDS.validate_python(value) if isinstance(value, list) else _TEXT.validate_python(value)


STRING = keywords(type="string", known_maxLength="max_text_chars")
TEXT = keywords(type="string", minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")
TEXT_LIST = keywords(type="array", items=TEXT, minItems=1, known_maxItems="max_texts")

IDS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": MAX_ENTRIES}
ID_LISTS = keywords(type="array", items=IDS, minItems=1, known_maxItems="max_texts")
_ENTRIES = keywords(type="array", items={"anyOf": [TEXT, IDS]}, minItems=1, known_maxItems="max_texts")

Ids = Annotated[list[int], Field(min_length=1), Bounded]
_IDS: TypeAdapter[list[int]] = TypeAdapter(Ids, config=ConfigDict(strict=True))
_TEXT: TypeAdapter[str] = TypeAdapter(Text, config=ConfigDict(strict=True))

Input = Annotated[
    list[Text], Field(min_length=1), Bounded, BeforeValidator(strings), WithJsonSchema({"anyOf": [TEXT, TEXT_LIST]})
]
TextsOrIds = Annotated[
    list[Annotated[str | list[int], PlainValidator(_entry)]],
    Field(min_length=1),
    Bounded,
    BeforeValidator(_entries),
    WithJsonSchema({"anyOf": [TEXT, _ENTRIES, IDS]}),
]
Decode: TypeAlias = Callable[[Sequence[int]], str]
"""The text of token ids. Raises ValueError: an id is unknown."""
ModelChoiceName = Annotated[
    String,
    Field(description="A name that GET /v1/models lists, or `model@measure`; null is the default model."),
    documented(known_pattern="model_choice", examples=["minilm-words", "minilm@cosine"]),
]


class LenientBody(RequestBody):
    """A request body of another API. Fields that it does not list, such as `user`, are ignored."""

    model_config = ConfigDict(extra="ignore")


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


def role_of(input_type: str | None) -> Role:
    """The role of texts of a type, as the APIs of this field name types.

    >>> role_of("search_document"), role_of("search_query"), role_of("classification"), role_of(None)
    ('document', 'query', 'query', 'query')
    """
    return "document" if input_type in DOCUMENT_TYPES else "query"


def truncation(
    truncate: Truncate | None, prompt_tokens: int | None, side: Literal["left", "right"] | None
) -> Truncation:
    """The truncation of a request; vLLM's fields precede ours.

    >>> truncation("END", 8, None), truncation(None, -1, "right")
    (Truncation(mode='START', max_tokens=8), Truncation(mode='END', max_tokens=None))
    """
    if prompt_tokens is None:
        return Truncation(truncate)
    end: Truncate = "END" if side == "right" else "START"
    return Truncation(end, None if prompt_tokens == MODEL_LIMIT else prompt_tokens)


def base64_of(numbers: Floats) -> str:
    """Numbers as base64 of little-endian float32, row by row."""
    return base64.b64encode(numbers.astype("<f4").tobytes()).decode()
