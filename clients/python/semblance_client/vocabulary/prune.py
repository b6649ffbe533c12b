"""/prune: the sentences of documents that carry the score of a query."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.fields import (
    AtMostTexts,
    Bounded,
    ModelName,
    RequestBody,
    Text,
    alternative,
    one_of,
)
from semblance_client.vocabulary.responses import ResponseBody, Space, Usage, Warnings

DEFAULT_SHARE = 0.9
FORMS = 'give either a share, such as {"share": 0.9}, or a number of tokens, such as {"tokens": 300}'


class Keep(RequestBody):
    """Either the share of the score to keep, or a number of tokens."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"share": DEFAULT_SHARE}, {"tokens": 300}],
            "allOf": one_of(alternative({"share": "number"}, "tokens"), alternative({"tokens": "integer"}, "share")),
        },
    )

    share: float | None = Field(None, gt=0, le=1, allow_inf_nan=False)
    """Of the score of all documents together; 1 keeps all that adds to it."""
    tokens: int | None = Field(None, ge=1)
    """Most tokens of the model, of all documents together. Sentences that do not fit are skipped."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.share is None) == (self.tokens is None):
            raise PydanticCustomError("invalid_request", "{form}", {"form": FORMS})
        return self


class PruneRequest(RequestBody):
    """A query, and documents of which only some sentences are needed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "my parcel never came",
                    "documents": ["Return shoes within 30 days. Track a shipment that did not arrive.", "We are open."],
                    "keep": {"share": DEFAULT_SHARE},
                },
                {"query": "my parcel never came", "documents": ["A parcel is lost."], "keep": {"tokens": 300}},
            ],
        },
    )

    query: Text
    """Truncated at its end to what the model reads, and to 512 tokens."""
    documents: Annotated[list[Text], Bounded, AtMostTexts] = Field(min_length=1)
    """In any order. Of what several say, one keeps it."""
    keep: Keep = Field(default_factory=lambda: Keep(share=DEFAULT_SHARE), validate_default=False)
    """A share of the score, 0.9 by default, or a token budget."""
    model: ModelName | None = None
    """A served model; null is the default one."""


class DroppedSentence(ResponseBody):
    """A sentence that is left out. Positions count code points."""

    start: int
    """First code point in the text."""
    end: int
    """One past the last code point."""
    share: float
    """Of the score: what the sentence would add to all kept ones, and to dropped ones that add more."""
    tokens: int
    """Of the model, special tokens not included."""


class KeptSentence(DroppedSentence):
    """A sentence that is kept. Positions count code points."""

    share: float
    """Of the score: what the sentence adds to those that were chosen before it."""
    text: str
    """The sentence."""


class PrunedDocument(ResponseBody):
    """The sentences of a document, in order."""

    index: int
    """The position of the document in the request."""
    kept: list[KeptSentence]
    """The sentences to read on, in order; none of a document that adds nothing."""
    dropped: list[DroppedSentence]
    """Sentences that are left out."""
    tokens: int
    """Of all its sentences, special tokens not included."""


class KeptTotals(ResponseBody):
    """Sums over the kept sentences.

    The shares of all sentences, kept and dropped, and `rest` sum to 1.
    """

    score: float
    """Similarity of the query to all texts together, in [0, 1]."""
    share: float
    """Of the score, in the kept sentences."""
    rest: float
    """Share of the score outside all sentences, and rounding; 1 if nothing matches."""
    kept_tokens: int
    """Tokens of the kept sentences, special tokens not included."""
    tokens: int
    """Of all sentences, special tokens not included."""
    measure: str
    """The measure with the same cosines and weights of words."""


class Pruned(KeptTotals):
    """The documents in the order of the request.

    The shares of all sentences, kept and dropped, and `rest` sum to 1.
    """

    documents: list[PrunedDocument]
    """The documents, in the order of the request."""
    truncated: bool
    """Whether the query was truncated."""
    model: str
    """Name of the model."""
    space: Space
    warnings: Warnings
    usage: Usage
    """What the request cost."""
