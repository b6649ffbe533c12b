"""Probabilities beside scores, and the calibration behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import BaseModel, Field

from semblance.service.ports.calibration import Calibration

Probability: TypeAlias = Annotated[
    float | None,
    Field(description="Probability that people call the pair the same; null if the measure has no calibration."),
]
MinProbability: TypeAlias = Annotated[
    float | None,
    Field(ge=0, le=1, allow_inf_nan=False, description="Least probability; needs a calibration of the measure."),
]


class CalibrationOut(BaseModel):
    """The labeled pairs by which scores become probabilities."""

    data: str = Field(description="Name of the data. On texts of another kind, the probabilities may be far off.")
    pairs: int = Field(description="Number of pairs.")
    error: float = Field(description="Calibration error on pairs of the same data, by cross-fitting.")


CalibrationField: TypeAlias = Annotated[
    CalibrationOut | None, Field(description="What the probabilities are fitted to; null if there are none.")
]


def calibration_out(calibration: Calibration | None) -> CalibrationOut | None:
    """The calibration as JSON."""
    if calibration is None:
        return None
    return CalibrationOut(data=calibration.data, pairs=calibration.pairs, error=calibration.error)


def probability_of(calibration: Calibration | None, score: float) -> float | None:
    """The probability of a score."""
    return None if calibration is None else calibration.probability_of(score)


def probabilities_of(
    calibration: Calibration | None, scores: Sequence[float] | Sequence[Sequence[float]]
) -> list[float] | list[list[float]] | None:
    """The probabilities of scores, in the same shape."""
    if calibration is None:
        return None
    probabilities: list[float] | list[list[float]] = calibration.probability(np.asarray(scores, np.float64)).tolist()
    return probabilities
