"""What all answers share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """An answer of the service, or a part of one. Fields that a newer service adds are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)


class RequestWarning(Answer):
    """A part of a request that was accepted, but may not do what was expected.

    Attributes:
        pointer: JSON pointer into the body of the request.
        code: a code of the service's table of warnings.
        detail: the warning.
    """

    pointer: str
    code: str
    detail: str


class Calibration(Answer):
    """The labeled pairs by which scores become probabilities.

    Attributes:
        data: name of the data; on texts of another kind, probabilities may be far off.
        pairs: number of pairs.
        error: calibration error on pairs of the same data.
    """

    data: str
    pairs: int
    error: float


class Usage(Answer):
    """Cost of a request: tokens of all its texts."""

    tokens: int


class TokenUsage(Answer):
    """The same in the shape of OpenAI's API."""

    prompt_tokens: int
    total_tokens: int
