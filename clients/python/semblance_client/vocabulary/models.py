"""/models, /v1/models, /live and /ready."""

from __future__ import annotations

from typing import Literal

from semblance_client.vocabulary.responses import Calibration, ResponseBody, Space


class CalibratedMeasure(Calibration):
    """A measure whose scores come with probabilities."""

    measure: str


class ScoreRanges(ResponseBody):
    """The middle 80 % of a measure's scores, from and to, of three kinds of pairs of texts."""

    measure: str
    random: tuple[float, float]
    related: tuple[float, float]
    paraphrases: tuple[float, float]


class Model(ResponseBody):
    """A served model. What is known only once it is loaded is null until its first use."""

    name: str
    kind: Literal["encoder", "reranker"]
    """Whether requests name it as `model`, or as `rerank_model`: it then reads a query and a text together, and has
    neither vectors nor words."""
    default: bool
    loaded: bool
    space: Space
    pooling: str | None
    """Null of a reranker, as are `similarity` and `dim`."""
    similarity: str | None
    """Comparison for which it was trained: cosine, dot, euclidean or manhattan.

    Search compares by cosine.
    """
    dim: int | None
    max_tokens: int | None
    """Of a text, or of a query and a text together."""
    build: str | None
    precision: str | None
    calibrations: list[CalibratedMeasure]
    typical: list[ScoreRanges]
    """Ranges of usual scores by measure; empty for models that were not measured."""


class Measure(ResponseBody):
    """A measure that requests may name."""

    name: str
    summary: str
    reference: str
    bounds: tuple[float | None, float | None]
    """The smallest and the largest score; null where there is none, as for a negative distance."""
    symmetric: bool
    explainable: bool


class RefusedModel(ResponseBody):
    """A model that is configured and cannot be served."""

    name: str
    reason: str


class ModelList(ResponseBody):
    """The served models, and the measures that compare their vectors."""

    models: list[Model]
    measures: list[Measure]
    refused: list[RefusedModel]


class ModelCard(ResponseBody):
    """A model, as OpenAI's API and Cohere's have it."""

    id: str
    name: str
    """The same, for Cohere's clients."""
    endpoints: list[Literal["embed", "rerank"]]
    """Cohere's endpoints that it serves."""
    context_length: int | None
    """Most tokens of a text; null if it is known only once the model is loaded."""
    object: Literal["model"] = "model"
    created: int
    """Unix time from which this process serves it."""
    owned_by: Literal["semblance"] = "semblance"


class ModelCards(ResponseBody):
    """Models, as OpenAI's API and Cohere's have them."""

    object: Literal["list"] = "list"
    data: list[ModelCard]
    models: list[ModelCard]
    """The same, for Cohere's clients."""


class Live(ResponseBody):
    """The process runs."""

    status: Literal["live"] = "live"


class Ready(ResponseBody):
    """Whether requests should come here, and the result of each check."""

    status: Literal["ready", "degraded", "not_ready"]
    checks: dict[str, bool]
    refused: list[RefusedModel]
