"""How good the encoder is by now: the dev sets of a run, put to what would be saved and served."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from models.evaluation.kinds import judge
from models.evaluation.scorer import LocalScorer
from models.evaluation.tasks import Task
from models.formats.transformer_folder import TransformerFolder
from models.model_files import Source
from models.training.sentence_model import servable

T = TypeVar("T")

MEAN = "dev"  # what the best checkpoint is chosen by


class DevSets(BaseEvaluator):
    """The first figure of every dev set by one measure, and their mean, of the encoder as it is now.

    The encoder is saved and loaded as it would be served, so what is measured is what users get.

    Args:
        tasks: the sets by name.
        measure: name of the measure.
    """

    def __init__(self, tasks: Mapping[str, Task], measure: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.primary_metric = MEAN
        self._tasks = tasks
        self._measure = measure

    def __call__(  # type: ignore[override]  # of all the models of the library, this is the one we train
        self, model: SentenceTransformer, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Set -> figure, and `dev` -> their mean. The other arguments are the trainer's, and have no use here."""
        del output_path, epoch, steps
        device = str(model.device)
        with tempfile.TemporaryDirectory() as folder:
            servable(model).save_pretrained(folder, create_model_card=False)
            encoder = TransformerFolder().read(Source(Path(folder))).load("in training", device, "float32")
        scorer = LocalScorer(encoder, _quietly)
        figures = {name: self._figure(task, scorer) for name, task in self._tasks.items()}
        return {**figures, MEAN: sum(figures.values()) / len(figures)}

    def _figure(self, task: Task, scorer: LocalScorer) -> float:
        return judge(task, scorer, [self._measure])[self._measure].quantities[0].value()


def _quietly(items: Sequence[T], what: str) -> Sequence[T]:
    del what
    return items
