"""Paraphrase classifiers of built-in models, which come in `service/classifiers/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open

from semblance.models.paraphrases.classifier import ParaphraseClassifier

FOLDER = Path(__file__).parents[1] / "classifiers"


def read_classifiers() -> Mapping[str, ParaphraseClassifier]:
    """The classifiers by the space of their encoder, which their files name.

    Raises:
        BadCheckpoint: a file is damaged.
    """
    return {_space_of(file): ParaphraseClassifier.read(file) for file in sorted(FOLDER.glob("*/*.safetensors"))}


def _space_of(file: Path) -> str:
    with safe_open(file, framework="np") as tensors:
        return str(tensors.metadata()["space"])
