"""/same: whether pairs of texts say the same, and the words that speak against it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from semblance_client.vocabulary.fields import AtMostTexts, Bounded, ModelName, RequestBody
from semblance_client.vocabulary.responses import ResponseBody, Space, Usage, Warnings
from semblance_client.vocabulary.similarity import Pair


class SameRequest(RequestBody):
    """Pairs of texts, of which the order does not matter."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"pairs": [{"a": "How do I turn on dark mode?", "b": "How do I turn off dark mode?"}]}]
        },
    )

    pairs: Annotated[list[Pair], Bounded, AtMostTexts] = Field(min_length=1)
    model: ModelName | None = None
    """A served model that has a paraphrase classifier; null is the default one."""


class Place(ResponseBody):
    """Words of a text. Positions count code points."""

    start: int
    end: int
    text: str


class Reason(ResponseBody):
    """A reason against a pair being the same."""

    kind: Literal["number", "negation", "replaced", "only", "order"]
    """A number that differs; a negation in one text; words replaced by others, or in one text only; another order."""
    log_odds: float
    """Its contribution to the log-odds, below 0."""
    a: list[Place]
    """The words in the first text; empty if they are in the second one only."""
    b: list[Place]


class Verdict(ResponseBody):
    """Whether two texts say the same.

    `base`, the log-odds of the reasons and `rest` sum to `log_odds`.
    """

    verdict: Literal["same", "different", "unsure"]
    unsure: Literal["close_call", "language", "long_text", "no_words", "unread_text"] | None = None
    """Why the verdict is unsure: nearly even odds, or a text that the classifier is not made for."""
    log_odds: float | None
    """Natural logarithm of the odds that the texts say the same; null for texts that the classifier is not made for."""
    base: float
    """Log-odds of two texts with the same words."""
    rest: float
    """Contribution of everything that is not in the reasons."""
    reasons: list[Reason]
    """The heaviest first."""


class Verdicts(ResponseBody):
    """A verdict for each pair, in their order."""

    verdicts: list[Verdict]
    model: str
    space: Space
    warnings: Warnings
    usage: Usage
