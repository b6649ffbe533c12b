"""Parts of many responses: base class, warnings, calibrations, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue

from semblance_client.vocabulary.described import Described

MAX_WARNINGS = 100  # in one response

# code of a warning -> when; docs/errors.md lists them
WARNINGS: Mapping[str, str] = {
    "empty_text": "A text has no visible character, or no token: it is ranked last, or has the vector of an empty text",
    "filter_type_mismatch": "No document has a value of the condition's type in that field, such as a number",
    "incomplete_search": "The index on another server has too many stale passages: more documents may match",
    "unknown_metadata_field": "No document of the collection has a value to compare in that metadata field",
    "unread_date": "A date is in another form than ISO 8601: a filter compares it as a string, a boost leaves it out",
    "unread_text": "The model cannot read at least half of a text's letters, or any sign of a text without letters",
}

Space: TypeAlias = Annotated[
    str,
    Field(description="Digest of all that decides what a vector means; vectors and scores are comparable within one."),
]
Probability: TypeAlias = Annotated[
    float | None,
    Field(description="Probability that people call the pair the same; null if the measure has no calibration."),
]


class ResponseBody(Described):
    """A response of the service, or a part of one. Fields that a newer service adds are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)


def _encodable(text: object) -> object:
    """The text with `?` for lone surrogates, which the name of a field in a filter may have."""
    return text.encode(errors="replace").decode() if isinstance(text, str) else text


def _first(warnings: object) -> object:
    return list(warnings[:MAX_WARNINGS]) if isinstance(warnings, Sequence) else warnings


class RequestWarning(ResponseBody):
    """A part of a request that was accepted, but may not do what the client expects."""

    pointer: Annotated[str, BeforeValidator(_encodable)]
    """JSON pointer into the body; query parameters are named like fields of a body."""
    code: Annotated[str, Field(json_schema_extra={"enum": list(WARNINGS)})]
    """Stable; programs may rely on it."""
    detail: str
    """What is wrong, in words."""


Warnings: TypeAlias = Annotated[
    list[RequestWarning],
    BeforeValidator(_first),
    Field(description=f"Empty if there are none; the first {MAX_WARNINGS} if there are more."),
]


def row(columns: Mapping[str, JsonValue], metadata: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A row of a table, without nulls.

    A metadata field with the name of a column has `metadata.` before it.

    >>> row({"id": "1", "score": 0.5, "probability": None}, {"score": 3, "year": 2026})
    {'id': '1', 'score': 0.5, 'metadata.score': 3, 'year': 2026}
    """
    fields = {f"metadata.{name}" if name in columns else name: value for name, value in metadata.items()}
    return {name: value for name, value in {**columns, **fields}.items() if value is not None}


def shortened(text: str, most: int = 24) -> str:
    """A word, or several, as text shows them: at most that many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Calibration(ResponseBody):
    """The labeled pairs by which scores become probabilities."""

    data: str
    """Name of the data. On texts of another kind, the probabilities may be far off."""
    pairs: int
    """Number of pairs."""
    error: float
    """Calibration error on pairs of the same data, by cross-fitting."""


class Usage(ResponseBody):
    """Cost of a request."""

    tokens: int
    """Tokens of all its texts, special tokens included."""
    passages: int = 0
    """Passages in which texts were read that are longer than the model reads."""


class TokenUsage(ResponseBody):
    """Cost of a request, in the shape of OpenAI's API."""

    prompt_tokens: int
    """Tokens of all its texts, special tokens included."""
    total_tokens: int
    """The same: nothing is generated."""
    passages: int = Field(0, exclude_if=lambda count: count == 0)
    """Not OpenAI's: passages in which texts were read that are longer than the model reads; absent if none."""


class Scored(ResponseBody):
    """Fields of every response with scores."""

    model: str
    """Name of the model."""
    space: Space
    measure: str
    """Name of the measure."""
    calibration: Calibration | None = None
    """Data that the probabilities are fitted to; null if there are none."""
