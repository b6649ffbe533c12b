"""What is to be trained, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.models.evaluation.tasks import Task
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.training.curves import Curves
from semblance.models.training.recipe import Recipe
from semblance.models.training.training_rows import TrainingRows


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be trained.

    Attributes:
        name: of the recipe.
        recipe: its settings.
        checkpoint: the files of the model to start from.
        rows: what to train on.
        dev: the dev sets by name.
        out: folder of the finished model; must not exist.
        device: as torch names it.
    """

    name: str
    recipe: Recipe
    checkpoint: Checkpoint
    rows: TrainingRows
    dev: Mapping[str, Task]
    out: Path
    device: str

    @property
    def work(self) -> Path:
        """Where checkpoints lie until the model is finished."""
        return self.out.with_name(f"{self.out.name}.training")

    def about(self) -> Mapping[str, Any]:
        """What a run that goes on has in common with the one that was cut off."""
        return {
            "recipe": self.name,
            "settings": self.recipe.model_dump(mode="json"),
            "base": self.checkpoint.space,
            "rows": len(self.rows),
            "rows_removed": self.rows.removed,
            "rows_unlabelled": self.rows.unlabelled,
            "data_sha256": self.rows.sha256,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: step of steps, and the points so far."""

    step: int
    steps: int
    curves: Curves
