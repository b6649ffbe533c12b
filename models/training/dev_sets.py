"""How good the encoder is by now: the dev sets of a run, put to what would be saved and served."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from semblance.models.evaluation.metrics import judge
from semblance.models.evaluation.scorer import LocalScorer
from semblance.models.evaluation.tasks import Task
from semblance.models.formats.transformer_folder import TransformerFolder
from semblance.models.model_files.source import Source
from semblance.models.runtime import Compute
from semblance.models.training.errors import BadRecipe, CheckpointNotSaved
from semblance.models.training.sentence_model import servable

T = TypeVar("T")

MEAN = "dev"  # what the best checkpoint is chosen by


class DevSets(BaseEvaluator):
    """The first figure of every dev set by one measure, and their mean, of the encoder as it is now.

    The encoder is saved and loaded as it would be served, so what is measured is what users get.

    Args:
        tasks: the sets by name.
        measure: name of the measure.
        folder: where the encoder is saved for a moment.

    Raises:
        CheckpointNotSaved: it could not be saved.
        BadRecipe: a set cannot be put to that measure.
    """

    def __init__(self, tasks: Mapping[str, Task], measure: str, folder: Path) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.primary_metric = MEAN
        self._tasks = tasks
        self._measure = measure
        self._folder = folder

    def __call__(  # type: ignore[override]  # of all the models of the library, this is the one we train
        self, model: SentenceTransformer, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Set -> figure, and `dev` -> their mean. The other arguments are the trainer's, and have no use here."""
        del output_path, epoch, steps
        try:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                servable(model).save_pretrained(folder, create_model_card=False)
                encoder = TransformerFolder().read(Source(Path(folder))).load("now", Compute(str(model.device)))
        except (OSError, SafetensorError) as error:
            raise CheckpointNotSaved(f"no model could be written to {self._folder}: {error}") from error
        scorer = LocalScorer(encoder, _quietly)
        figures = {name: self._figure(task, scorer) for name, task in self._tasks.items()}
        return {**figures, MEAN: sum(figures.values()) / len(figures)}

    def _figure(self, task: Task, scorer: LocalScorer) -> float:
        found = judge(task, scorer, [self._measure])
        if self._measure not in found:
            raise BadRecipe(
                f"the measure {self._measure} does not explain, so that a dev set of chunks has no use for it"
            )
        return found[self._measure].quantities[0].value()


def _quietly(items: Sequence[T], what: str) -> Sequence[T]:
    del what
    return items
