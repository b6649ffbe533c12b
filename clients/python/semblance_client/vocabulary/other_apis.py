"""Responses in the shapes of Cohere's and OpenAI's APIs, which the client reads, too."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from semblance_client.vocabulary.explanation import Explanation
from semblance_client.vocabulary.prune import KeptTotals
from semblance_client.vocabulary.responses import Probability, ResponseBody, Scored, Space, TokenUsage, Warnings
from semblance_client.vocabulary.search import HitSentences


class Embedding(ResponseBody):
    """The vector of one text, at unit length."""

    index: int
    embedding: list[float]


class Embeddings(ResponseBody):
    """Vectors in the order of the texts."""

    data: list[Embedding]
    model: str
    space: Space
    truncated: list[bool]
    """Whether each text is longer than the model reads."""
    warnings: Warnings
    usage: TokenUsage

    @property
    def vectors(self) -> list[list[float]]:
        """The vectors alone."""
        return [item.embedding for item in self.data]


class Span(ResponseBody):
    """A part of a document."""

    start: int
    """First character, counted from 0 in Unicode code points."""
    end: int
    """One past its last character."""
    score: float
    """Its part of `raw_score`."""


class RankedText(ResponseBody):
    """The text of a ranked document."""

    text: str
    """The text of the document."""


class RankedDocument(ResponseBody):
    """A document of a rerank, by its position in the request."""

    index: int
    """Number of the document in the request, from 0."""
    relevance_score: float
    """`rerank_score` in [0, 1], or else `raw_score`: its probability by `calibration`, or mapped by the bounds of the
    measure."""
    rerank_score: float | None = None
    """The score of `rerank_model`, which orders the documents and has no words; all below is of the first stage."""
    probability: Probability = None
    raw_score: float | None = None
    """The measure itself; absent for a document without text."""
    document: RankedText | None = None
    """Absent if `return_documents` is false."""
    relevant_spans: list[Span] | None = None
    """The parts that match the query, best first; absent if none was asked for or found."""
    rest: float | None = None
    """`raw_score` less the scores of all spans."""
    sentences: HitSentences | None = None
    """Those of all that was read of the document; absent without `keep`."""
    explanation: Explanation | None = None
    """The parts of the score by words; null unless asked for."""


class BilledUnits(ResponseBody):
    """Cohere's unit of billing: one for each hundred documents."""

    search_units: int
    """Number of searches: 1."""


class InputTokens(ResponseBody):
    """Tokens of all texts, special tokens included."""

    input_tokens: int
    """Number of tokens of the request."""


class ApiVersion(ResponseBody):
    """Version of Cohere's API."""

    version: Literal["1", "2"]
    """Of the API."""


class RankingMeta(ResponseBody):
    """Cost and warnings, as Cohere's API has them."""

    api_version: ApiVersion
    """Version of the API."""
    billed_units: BilledUnits
    """What was counted; nothing is billed."""
    tokens: InputTokens
    """Number of tokens."""
    warnings: list[str] = Field(default_factory=list, exclude_if=lambda warnings: not warnings)
    """Absent if there are none; the first 100."""


class Ranking(Scored):
    """Results, best first, for clients of Cohere, Jina, vLLM and infinity."""

    id: str
    """Id of the request."""
    object: Literal["rerank"] = "rerank"
    """Kind of this object, as the other API names it."""
    rerank_model: str | None = None
    """The model that orders the results, if one was named; `model`, `space` and `measure` are of the first stage."""
    results: list[RankedDocument]
    """The documents, best first."""
    kept: KeptTotals | None = None
    """Totals of the kept sentences of all results; absent without `keep`."""
    meta: RankingMeta
    """Version, cost and warnings, as Cohere's API has them."""
    usage: TokenUsage
    """What the request cost."""
