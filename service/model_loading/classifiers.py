"""Paraphrase classifiers, in `service/classifiers/`, and their bounds, in the home folder."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import safe_open
from semblance_client.vocabulary.same import FalseHitBound

from semblance.models.errors import BadCheckpoint
from semblance.models.files.atomic import write_json
from semblance.models.paraphrases.classifier import ParaphraseClassifier
from semblance.service.ports.paraphrases import ServedClassifier

log = logging.getLogger(__name__)

FOLDER = Path(__file__).parents[1] / "classifiers"
BOUNDS = Path("calibrations", "same")  # in the home folder


class BoundFile(BaseModel):
    """A bound on false hits on disk, which holds for one classifier."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: Literal[1] = 1
    model: str
    space: str = Field(min_length=1)
    classifier: str
    bound: FalseHitBound


def read_classifiers() -> Mapping[str, ParaphraseClassifier]:
    """The classifiers by the space of their encoder, which their files name.

    Raises:
        BadCheckpoint: a file is damaged.
    """
    return {_space_of(file): ParaphraseClassifier.read(file) for file in sorted(FOLDER.glob("*/*.safetensors"))}


def served_classifiers(home: Path) -> Mapping[str, ServedClassifier]:
    """The classifiers with their bounds, by space; bounds of other classifiers are logged.

    Raises:
        BadCheckpoint: a file is damaged.
    """
    bounds = {content.space: content for content in map(_read, sorted((home / BOUNDS).glob("*.json")))}
    served: dict[str, ServedClassifier] = {}
    for space, classifier in read_classifiers().items():
        content = bounds.pop(space, None)
        if content is not None and content.classifier != classifier.digest:
            bounds[space], content = content, None
        served[space] = ServedClassifier(classifier, None if content is None else content.bound)
    for content in bounds.values():
        log.warning(
            "the bound on false hits by %s was fitted to another version of %s or of its classifier, and is not used: "
            "fit it again by `semblance calibrate --same`",
            content.bound.data,
            content.model,
        )
    return served


def save_bound(home: Path, content: BoundFile) -> Path:
    """Write the bound of a classifier instead of the former one; return its file.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder = home / BOUNDS
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{content.space[:16]}.json"
    write_json(file, content.model_dump())
    return file


def _read(file: Path) -> BoundFile:
    try:
        return BoundFile.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise BadCheckpoint(
            f"{file} is not a bound on false hits ({reason}): delete it, or fit it by `semblance calibrate --same`"
        ) from error


def _space_of(file: Path) -> str:
    with safe_open(file, framework="np") as tensors:
        return str(tensors.metadata()["space"])
