"""Routes of Ollama: vectors of texts, and the served models.

Names of models may end in `:latest`, which Ollama adds to names without a tag. Fields such as `options` and
`keep_alive` are ignored. The content type of a body matters only if a browser sent it (`api.edge.context`).
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from semblance_client.vocabulary.described import Described
from semblance_client.vocabulary.fields import Bounded, String, documented, keywords, require_one_of

from semblance.service.api.other_apis.texts import BLANK, STRING, LenientBody, input_texts, strings
from semblance.service.api.routing import JsonRoute, StrictRoute, Use, json_answer, with_truncated
from semblance.service.model_loading.registry import LazyModels
from semblance.service.settings import Settings
from semblance.service.turns import in_thread
from semblance.service.usecases.embed import Embed
from semblance.service.usecases.text_embedder import AT_END, InputText, Truncation

router = APIRouter(prefix="/api", tags=["ollama"], route_class=JsonRoute)
pages = APIRouter(prefix="/api", tags=["ollama"], route_class=StrictRoute)

ARCHITECTURE = "semblance"
_LATEST = ":latest"
_NAMED = 'name a model, such as {"model": "minilm"}'

TaggedName = Annotated[
    String,
    Field(description="A name that GET /api/tags lists, with or without `:latest`."),
    documented(known_enum="models"),
]


def _present(value: object) -> object:
    """No texts for a missing or empty text, by which clients of Ollama load a model."""
    return [] if value is None or value == "" else strings(value)


Texts = Annotated[
    list[String],
    Bounded,
    BeforeValidator(_present),
    WithJsonSchema(
        {"anyOf": [STRING, keywords(type="array", items=STRING, known_maxItems="max_texts"), {"type": "null"}]}
    ),
]


class OllamaEmbedRequest(LenientBody):
    """Texts to embed, as Ollama's API has them. Fields that are not listed are ignored."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "minilm", "input": ["A cat.", "A dog."]}]})

    model: TaggedName
    input: Texts = Field(default_factory=list)
    """A blank text has the vector of the special tokens alone."""
    truncate: bool | None = None
    """False rejects longer texts; by default they are truncated."""
    dimensions: int | None = Field(None, ge=1)
    """Keep only the first ones."""


class OllamaEmbedResponse(Described):
    """Vectors at unit length; times are in nanoseconds."""

    model: str
    """Name of the model."""
    embeddings: list[list[float]]
    """A vector of each text."""
    total_duration: int
    """Time of the request in nanoseconds."""
    load_duration: int
    """Time of loading in nanoseconds."""
    prompt_eval_count: int
    """Number of tokens."""


class OllamaEmbeddingsRequest(LenientBody):
    """A text to embed, as earlier clients send it. Fields that are not listed are ignored."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "minilm", "prompt": "A cat."}]})

    model: TaggedName
    prompt: Annotated[String | None, documented(known_maxLength="max_text_chars")] = ""
    """The text."""


class OllamaEmbeddingsResponse(Described):
    """The vector of the text; empty for an empty text."""

    embedding: list[float]
    """The vector of the text."""


class OllamaShowRequest(LenientBody):
    """The name of a model. Fields that are not listed are ignored."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "minilm-graded"}]})

    model: TaggedName | None = None
    """Name of the model."""
    name: String | None = None
    """`model`, as earlier clients name it; read only without that."""

    _named = require_one_of("model", "name", otherwise=_NAMED)


class OllamaDetails(Described):
    """Details of the files of a model; most of them are Ollama's alone."""

    parent_model: str = ""
    """Always empty."""
    format: str = ""
    """Always empty."""
    family: str = ARCHITECTURE
    """Kind of the network."""
    families: list[str] = Field([ARCHITECTURE])
    """The same, as a list."""
    parameter_size: str = ""
    """Always empty."""
    quantization_level: str = Field("", description="Number type of the network, once it is loaded.")


class OllamaModel(Described):
    """A served model, or an alias of one."""

    name: str
    """Name of the model."""
    model: str
    """Name of the model."""
    modified_at: datetime = Field(description="From when it is served.")
    size: int = Field(description="Bytes of its files.")
    digest: str = Field(description="Of everything that decides what a vector means.")
    details: OllamaDetails
    """About the model."""
    capabilities: list[Literal["embedding"]] = Field(["embedding"])
    """What the model can do."""


class OllamaTags(Described):
    """The served models."""

    models: list[OllamaModel]
    """The served models."""


class OllamaModelInfo(Described):
    """A served model; `model_info` has the lengths of its vectors and, in tokens, of its texts."""

    license: str = ""
    """Always empty."""
    modelfile: str = ""
    """Always empty."""
    parameters: str = ""
    """Always empty."""
    template: str = ""
    """Always empty."""
    details: OllamaDetails
    """About the model."""
    model_info: dict[str, str | int]
    """Lengths of its vectors and texts."""
    capabilities: list[Literal["embedding"]] = Field(["embedding"])
    """What the model can do."""
    modified_at: datetime
    """From when it is served."""


class OllamaVersion(Described):
    """The version of Semblance."""

    version: str
    """Of Semblance."""


@router.post("/embed", summary="Embed texts, as Ollama does", response_model=OllamaEmbedResponse)
async def embed_as_ollama(
    body: OllamaEmbedRequest, embed: Use[Embed], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """The vector of each text, at unit length; without a text, the model is loaded."""
    began = time.perf_counter_ns()
    texts = input_texts("input", [text or BLANK for text in body.input], settings.max_texts)
    name = served_name(body.model, models)
    encoder = await models.get(name)
    vectors, tokens, truncated = np.zeros((0, encoder.dim), np.float32), 0, 0
    if texts:
        truncation = Truncation("NONE" if body.truncate is False else "END")
        result = await embed.vectors(texts, model=name, dimensions=body.dimensions, truncation=truncation)
        vectors, tokens, truncated = result.vectors, result.tokens, sum(result.truncated)

    def write() -> str:
        return OllamaEmbedResponse(
            model=body.model,
            embeddings=vectors.tolist(),
            total_duration=time.perf_counter_ns() - began,
            load_duration=0,
            prompt_eval_count=tokens,
        ).model_dump_json()

    return with_truncated(await json_answer("float", vectors.size, write), truncated)


@router.post("/embeddings", summary="Embed a text, as Ollama did", response_model=OllamaEmbeddingsResponse)
async def embed_prompt(body: OllamaEmbeddingsRequest, embed: Use[Embed], models: Use[LazyModels]) -> Response:
    """The vector of a text, at unit length; without a text, the model is loaded."""
    name = served_name(body.model, models)
    await models.get(name)
    vector, truncated = list[float](), 0
    if body.prompt:
        result = await embed.vectors([InputText(body.prompt, "/prompt")], model=name, truncation=AT_END)
        vector, truncated = result.vectors[0].tolist(), sum(result.truncated)
    answer = OllamaEmbeddingsResponse(embedding=vector).model_dump_json()
    return with_truncated(Response(answer, media_type="application/json"), truncated)


@router.post("/show", summary="Show a model, as Ollama does", response_model=OllamaModelInfo)
async def show_as_ollama(body: OllamaShowRequest, models: Use[LazyModels]) -> Response:
    """A model, which is loaded if it is not."""
    encoder = await models.get(served_name(body.model or body.name or "", models))
    shown = OllamaModelInfo(
        details=OllamaDetails(quantization_level=encoder.precision),
        model_info={
            "general.architecture": ARCHITECTURE,
            "general.basename": encoder.name,
            f"{ARCHITECTURE}.context_length": encoder.max_tokens,
            f"{ARCHITECTURE}.embedding_length": encoder.dim,
        },
        modified_at=_since(models),
    )
    return Response(shown.model_dump_json(), media_type="application/json")


@pages.get("/tags", summary="List models, as Ollama does")
async def list_tags(models: Use[LazyModels]) -> OllamaTags:
    """The served models, and their aliases."""
    return OllamaTags(models=await in_thread(lambda: [_listed(name, models) for name in models.names]))


@pages.get("/version", summary="Show the version, as Ollama does")
async def get_version() -> OllamaVersion:
    """The version of Semblance, which is not one of Ollama."""
    return OllamaVersion(version=version("semblance-server"))


def served_name(name: str, models: LazyModels) -> str:
    """The name of a model without the tag `:latest`, unless an alias has it."""
    return name if name in models.names else name.removesuffix(_LATEST)


def _listed(name: str, models: LazyModels) -> OllamaModel:
    served = models.resolve(name).model or models.default
    files, encoder = models.files[served], models.loaded().get(served)
    tagged = name if ":" in name else name + _LATEST
    return OllamaModel(
        name=tagged,
        model=tagged,
        modified_at=_since(models),
        size=_bytes_of(files.location),
        digest=files.space,
        details=OllamaDetails(quantization_level=encoder.precision if encoder else ""),
    )


def _bytes_of(location: Path) -> int:
    """The size of a file, or of the files in a folder."""
    files = location.iterdir() if location.is_dir() else [location]
    return sum(file.stat().st_size for file in files if file.is_file())


def _since(models: LazyModels) -> datetime:
    return datetime.fromtimestamp(models.since, UTC)
