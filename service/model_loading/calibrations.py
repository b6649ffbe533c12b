"""Files of calibrations, in the folder `calibrations` of the home folder."""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from semblance_client.vocabulary.responses import Calibration

from semblance.models.errors import BadCheckpoint
from semblance.models.files.atomic import write_json
from semblance.models.judgments.centered_isotonic import ProbabilityMap
from semblance.service.ports.calibration import FittedCalibration

log = logging.getLogger(__name__)

FOLDER = "calibrations"
Share = Annotated[float, Field(ge=0, le=1)]


class ReliabilityBin(BaseModel):
    """Pairs of similar probability: its mean, their share of matches, and their number."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    predicted: Share
    observed: Share
    pairs: int = Field(ge=1)


class CalibrationFile(BaseModel):
    """A calibration on disk, with its data and its reliability by cross-fitting."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: Literal[1] = 1
    model: str
    space: str = Field(min_length=1)
    measure: str = Field(min_length=1)
    data: str = Field(min_length=1)
    pairs: int = Field(ge=1)
    matches: int = Field(ge=0)
    error: Share
    error_interval: tuple[Share, Share]
    brier: Share
    reliability: list[ReliabilityBin]
    pair_digests: list[str] = Field(default_factory=list)
    scores: list[float] = Field(min_length=1)
    probabilities: list[Share]

    @model_validator(mode="after")
    def _monotone(self) -> Self:
        rising = all(np.diff(each).min(initial=1) > 0 for each in (self.scores, self.probabilities))
        if not rising or len(self.scores) != len(self.probabilities):
            raise ValueError("scores and probabilities must be of equal length, and increase")
        return self

    def calibration(self) -> FittedCalibration:
        """The calibration as used by the service."""
        probability = ProbabilityMap(np.array(self.scores), np.array(self.probabilities))
        return FittedCalibration(Calibration(data=self.data, pairs=self.pairs, error=self.error), probability)


def save_calibration(home: Path, content: CalibrationFile) -> Path:
    """Write the calibration of a space and a measure instead of the former one; return its file.

    Raises:
        OSError: the folder cannot be written to.
    """
    file = _file(home, content.space, content.measure)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, content.model_dump())
    return file


def read_calibration(home: Path, space: str, measure: str) -> CalibrationFile | None:
    """The calibration of a space and a measure, if there is one. Raises BadCheckpoint."""
    file = _file(home, space, measure)
    content = _read(file) if file.exists() else None
    return content if content is not None and content.space == space else None


def _file(home: Path, space: str, measure: str) -> Path:
    return home / FOLDER / f"{space[:16]}-{measure}.json"


def read_calibrations(home: Path, spaces: Collection[str]) -> dict[tuple[str, str], FittedCalibration]:
    """The calibrations of the models with these spaces, by space and measure; others are logged.

    Raises:
        BadCheckpoint: a file is damaged.
    """
    found: dict[tuple[str, str], FittedCalibration] = {}
    for file in sorted((home / FOLDER).glob("*.json")):
        content = _read(file)
        if content.space in spaces:
            found[content.space, content.measure] = content.calibration()
        else:
            log.warning(
                "%s was fitted to another version of %s, or to a model that is not served: it is not used",
                file,
                content.model,
            )
    return found


def _read(file: Path) -> CalibrationFile:
    try:
        return CalibrationFile.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise BadCheckpoint(
            f"{file} is not a calibration ({reason}): delete it, or fit it again by `semblance calibrate`"
        ) from error
