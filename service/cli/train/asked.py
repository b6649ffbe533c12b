"""The options of `semblance train`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RECIPES = "semblance.models.training.recipes"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be trained by what, and where the files are."""

    recipe: str
    config: Path | None
    rows: Path
    out: Path
    exclude: Sequence[str]
    data: Path | None
