"""Calibrated measures: from a score to the probability that people call a pair the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from semblance_client.vocabulary.responses import Calibration
from semblance_client.vocabulary.same import Verdict

from semblance.models.judgments.centered_isotonic import ProbabilityMap
from semblance.models.protocols import Encoder
from semblance.service.errors import InvalidRequest, Problem


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """Maps the scores of one measure under one model to probabilities."""

    summary: Calibration
    probability: ProbabilityMap

    def probability_of(self, score: float) -> float:
        """The probability of one score."""
        return float(self.probability(np.array([score]))[0])

    def of_pair(self, score: float, same: Verdict | None) -> float | None:
        """The probability of a pair by its score; None if the verdict on it is that it is different.

        The score does not see what the verdict names: a number, a negation, an opposite.
        """
        withheld = same is not None and same.verdict == "different"
        return None if withheld else self.probability_of(score)


Calibrations: TypeAlias = Mapping[tuple[str, str], FittedCalibration]
"""By the space of a model and the name of a measure."""


def find_calibration(
    calibrations: Calibrations, encoder: Encoder, measure: str, min_probability: float | None
) -> FittedCalibration | None:
    """The calibration of a measure under a model, if it has one.

    Raises:
        InvalidRequest: it has none, and a least probability was requested.
    """
    found = calibrations.get((encoder.space, measure))
    if found is None and min_probability is not None:
        detail = f"{measure} has no calibration under {encoder.name}: fit one by `semblance calibrate`"
        raise InvalidRequest([Problem("/min_probability", "not_calibrated", detail)])
    return found
