"""/models, /v1/models, /live and /ready."""

from __future__ import annotations

from typing import Literal

from semblance_client.vocabulary.responses import Calibration, ResponseBody, Space


class CalibratedMeasure(Calibration):
    """A measure whose scores come with probabilities."""

    measure: str
    """Name of the measure."""


class ScoreRanges(ResponseBody):
    """The middle 80 % of a measure's scores, from and to, of three kinds of pairs of texts."""

    measure: str
    """Name of the measure."""
    random: tuple[float, float]
    """Of unrelated texts."""
    related: tuple[float, float]
    """Of related texts."""
    paraphrases: tuple[float, float]
    """Of texts that say the same."""


class Model(ResponseBody):
    """A served model. What is known only once it is loaded is null until its first use."""

    name: str
    """Name of the model."""
    kind: Literal["encoder", "reranker"]
    """Whether requests name it as `model`, or as `rerank_model`: it then reads a query and a text together, and has
    neither vectors nor words."""
    default: bool
    """Whether requests without a model use it."""
    loaded: bool
    """Whether it is in memory."""
    space: Space
    pooling: str | None
    """Null of a reranker, as are `similarity` and `dim`."""
    similarity: str | None
    """Comparison for which it was trained: cosine, dot, euclidean or manhattan.

    Search compares by cosine.
    """
    dim: int | None
    """Number of dimensions of its vectors."""
    max_tokens: int | None
    """Of a text, or of a query and a text together."""
    build: str | None
    """Build of its network; null until it is loaded."""
    precision: str | None
    """Number type of its computations; null until it is loaded."""
    calibrations: list[CalibratedMeasure]
    """Measures whose scores become probabilities."""
    typical: list[ScoreRanges]
    """Ranges of usual scores by measure; empty for models that were not measured."""


class Measure(ResponseBody):
    """A measure that requests may name."""

    name: str
    """Name of the measure."""
    summary: str
    """Its definition in a sentence."""
    reference: str
    """Where it was published."""
    bounds: tuple[float | None, float | None]
    """The smallest and the largest score; null where there is none, as for a negative distance."""
    symmetric: bool
    """Whether the order of two texts does not matter."""
    explainable: bool
    """Whether a score is a sum of parts by words."""


class RefusedModel(ResponseBody):
    """A model that is configured and cannot be served."""

    name: str
    """Name of the model."""
    reason: str
    """Why it is not served."""


class ModelList(ResponseBody):
    """The served models, and the measures that compare their vectors."""

    models: list[Model]
    """The served models."""
    measures: list[Measure]
    """All measures."""
    refused: list[RefusedModel]
    """Models that could not be loaded, with the reasons."""


class ModelCard(ResponseBody):
    """A model, as OpenAI's API and Cohere's have it."""

    id: str
    """Name of the model."""
    name: str
    """The same, for Cohere's clients."""
    endpoints: list[Literal["embed", "rerank"]]
    """Cohere's endpoints that it serves."""
    context_length: int | None
    """Most tokens of a text; null if it is known only once the model is loaded."""
    object: Literal["model"] = "model"
    """Kind of this object, as the other API names it."""
    created: int
    """Unix time from which this process serves it."""
    owned_by: Literal["semblance"] = "semblance"
    """Always the service."""


class ModelCards(ResponseBody):
    """Models, as OpenAI's API and Cohere's have them."""

    object: Literal["list"] = "list"
    """Kind of this object, as the other API names it."""
    data: list[ModelCard]
    """All names that `model` may have."""
    models: list[ModelCard]
    """The same, for Cohere's clients."""


class Live(ResponseBody):
    """The process runs."""

    status: Literal["live"] = "live"
    """Always `live`."""


class Ready(ResponseBody):
    """Whether requests should come here, and the result of each check."""

    status: Literal["ready", "degraded", "not_ready"]
    """Whether requests are served, and whether all parts work."""
    checks: dict[str, bool]
    """Whether each part works."""
    refused: list[RefusedModel]
    """Models that could not be loaded, with the reasons."""
