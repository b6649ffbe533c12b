"""`semblance evaluate --conditions`: whether the way in which a model is served keeps its quality."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from semblance.models.evaluation.acceptance import MEASURES, Condition, company, conditions_table, quality
from semblance.models.evaluation.evaluation import SEVEN, evaluate
from semblance.models.evaluation.scorer import LocalScorer
from semblance.models.evaluation.statistics.bootstrap import Resampling
from semblance.models.evaluation.tasks import GradedPairs
from semblance.service.cli.evaluate.sets import read_task
from semblance.service.cli.progress import bars
from semblance.service.cli.tables import show
from semblance.service.model_loading.device import load_asked, load_default
from semblance.service.settings import read_settings

FLOAT32 = {"runtime": "torch", "precision": "float32", "device": "cpu"}


def check_conditions(model: str | None, data: Path | None, resampling: Resampling) -> list[Condition]:
    """Print the conditions for the runtime and number type that the settings come to, and whether they hold.

    Raises:
        SemblanceError: a set or the model will not do.
    """
    settings = read_settings()
    served, exact = (
        load_default(each) if model is None else load_asked(model, each)
        for each in (settings, settings.model_copy(update=FLOAT32))
    )
    tasks = {name: read_task(name, data) for name in SEVEN}
    texts = [text for task in tasks.values() if isinstance(task, GradedPairs) for text in task.left]
    with bars(Console(stderr=True)) as track:
        scorer = LocalScorer(served, track)
        found = quality(evaluate(tasks, scorer, MEASURES, resampling, LocalScorer(exact, track)))
        found += company(served, texts, track)
    show(conditions_table(found, scorer.about()))
    return found
