"""A training run: its inputs, dev sets and progress, and its curves as JSON and as a plot."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from semblance.models.formats.transformer_folder import TransformerFolder
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.model_files.source import Source
from semblance.models.runtime import Compute
from semblance_lab.evaluation.metrics import compute_metrics
from semblance_lab.evaluation.reporting.report import COLORS
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.tasks import Task, WordAlignedPair
from semblance_lab.training.errors import BadRecipe, CheckpointNotSaved
from semblance_lab.training.recipe import LowRank, Recipe
from semblance_lab.training.sentence_model import merge_adapters
from semblance_lab.training.training_data import RunningText, TrainingRows

T = TypeVar("T")

MEAN = "dev"  # name of the figure that selects the best checkpoint


class DevSets(BaseEvaluator):
    """The first figure of every dev set by one measure, and their mean, for the current weights.

    The encoder is saved and loaded as it would be served, so the figures are those of the served model.

    Args:
        tasks: the sets by name.
        measure: name of the measure.
        folder: parent of the temporary model folder.
        low_rank: how trained adapters would be saved.

    Raises:
        CheckpointNotSaved: the temporary model could not be written.
        BadRecipe: the measure cannot evaluate a set.
    """

    def __init__(self, tasks: Mapping[str, Task], measure: str, folder: Path, low_rank: LowRank | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.primary_metric = MEAN
        self._tasks = tasks
        self._measure = measure
        self._folder = folder
        self._low_rank = low_rank

    def __call__(  # type: ignore[override]  # only SentenceTransformer, of all the library's model classes
        self, model: SentenceTransformer, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Set -> figure, and `dev` -> their mean. The trainer's other arguments are ignored."""
        del output_path, epoch, steps
        try:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                merge_adapters(model, self._low_rank).save_pretrained(folder, create_model_card=False)
                compute = Compute(str(model.device), runtime="torch")
                encoder = TransformerFolder().read(Source(Path(folder))).load("now", compute)
        except (OSError, SafetensorError) as error:
            raise CheckpointNotSaved(f"no model could be written to {self._folder}: {error}") from error
        scorer = LocalScorer(encoder, _untracked)
        figures = {name: self._figure(task, scorer) for name, task in self._tasks.items()}
        return {**figures, MEAN: sum(figures.values()) / len(figures)}

    def _figure(self, task: Task, scorer: LocalScorer) -> float:
        metrics = compute_metrics(task, scorer, [self._measure])
        if self._measure not in metrics:
            raise BadRecipe(
                f"the measure {self._measure} cannot explain its scores, as dev sets of chunks require: choose another"
            )
        return metrics[self._measure].metrics[0].value()


def _untracked(items: Sequence[T], what: str) -> Sequence[T]:
    del what
    return items


MARKED_POINTS = 20  # a loss curve of fewer points has a marker at each
_EVAL_PREFIX = "eval_"


@dataclass(frozen=True, slots=True)
class Run:
    """Inputs of a training run.

    Attributes:
        name: of the recipe.
        recipe: its settings.
        checkpoint: files of the model to start from.
        rows: training rows.
        running_text: texts of the loss of kept vectors; None without.
        aligned: pairs of the loss of aligned words; empty without.
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
    running_text: RunningText | None = None
    aligned: Sequence[WordAlignedPair] = ()

    @property
    def work(self) -> Path:
        """Working folder, which holds checkpoints until the model is finished."""
        return self.out.with_name(f"{self.out.name}.training")

    def about(self) -> Mapping[str, Any]:
        """Identity of the run: a run resumes only one with the same values."""
        return {
            "recipe": self.name,
            "settings": self.recipe.model_dump(mode="json"),
            "base": self.checkpoint.space,
            "rows": len(self.rows),
            "rows_removed": self.rows.removed,
            "rows_removed_by": dict(self.rows.removed_by),
            "rows_unlabelled": self.rows.unlabeled,
            "data_sha256": self.rows.sha256,
            "aligned_pairs": len(self.aligned),
            **_about_kept(self.running_text),
        }


def _about_kept(texts: RunningText | None) -> Mapping[str, Any]:
    if texts is None:
        return {}
    return {"kept_texts": len(texts), "kept_texts_removed": texts.removed, "kept_sha256": texts.sha256}


@dataclass(frozen=True, slots=True)
class Curves:
    """Points of a run: (step, mean loss, learning rate), and (step, set -> figure)."""

    loss: Sequence[tuple[int, float, float]]
    dev: Sequence[tuple[int, Mapping[str, float]]]

    @property
    def means(self) -> Sequence[float]:
        """The mean dev figure of every point."""
        return [figures[MEAN] for _, figures in self.dev]

    @property
    def best(self) -> tuple[int, float] | None:
        """Step with the highest mean dev figure, and that mean; step 0 has no checkpoint."""
        after = [(step, figures[MEAN]) for step, figures in self.dev if step > 0]
        return max(after, key=lambda point: point[1], default=None)

    @property
    def change(self) -> str:
        """The mean dev figure before training, and whether the best step does not exceed it."""
        start = self.means[0]
        worse = self.best is not None and self.best[1] <= start
        return f"from {100 * start:.2f}{', no better than' if worse else ''} before training"

    def as_json(self) -> Mapping[str, Any]:
        """The points as JSON values."""
        return {
            "loss": [{"step": step, "loss": loss, "learning_rate": rate} for step, loss, rate in self.loss],
            "dev": [{"step": step, **figures} for step, figures in self.dev],
        }


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress of a run: step of steps, and the curves so far."""

    step: int
    steps: int
    curves: Curves


def curves_from_log(log: Sequence[Mapping[str, Any]], sets: Sequence[str]) -> Curves:
    """Extract the points from a trainer's log."""
    return Curves(
        loss=[(each["step"], each["loss"], each["learning_rate"]) for each in log if "loss" in each],
        dev=[
            (each["step"], {name: each[_EVAL_PREFIX + name] for name in (*sets, MEAN)})
            for each in log
            if _EVAL_PREFIX + MEAN in each
        ],
    )


def draw_curves(curves: Curves, title: str, measure: str, file: Path) -> None:
    """Plot the loss and, below it, the dev figures if there are any."""
    canvas = Canvas(figsize=(7, 5 if curves.dev else 2.8), layout="constrained")
    axes = canvas.subplots(2 if curves.dev else 1, 1, sharex=True, squeeze=False)[:, 0]
    axes[0].set_title(title)
    loss = [value for _, value, _ in curves.loss]
    marker = "." if len(loss) < MARKED_POINTS else ""
    axes[0].plot([step for step, *_ in curves.loss], loss, color=COLORS[0], marker=marker)
    axes[0].set_ylabel("loss")
    if curves.dev:
        _draw_dev_curves(axes[1], curves, measure)
    axes[-1].set_xlabel("step")
    for each in axes:
        each.grid(alpha=0.3)
        each.spines[["top", "right"]].set_visible(False)
    canvas.savefig(file, dpi=120)


def _draw_dev_curves(axes: Axes, curves: Curves, measure: str) -> None:
    steps = [step for step, _ in curves.dev]
    sets = curves.dev[0][1]
    names = [name for name in sets if name != MEAN or len(sets) > 2]  # the mean of one set is that set
    for name, color in zip(names, COLORS, strict=False):
        label = "mean" if name == MEAN else name
        axes.plot(steps, [100 * figures[name] for _, figures in curves.dev], marker="o", label=label, color=color)
    if curves.best is not None:
        step, mean = curves.best
        axes.axvline(step, color="#888888", linewidth=1, zorder=0)
        axes.set_title(f"kept: step {step}, with {100 * mean:.2f}", loc="right", fontsize="small")
    axes.set_ylabel(f"dev by {measure}, times 100")
    axes.legend(frameon=False, fontsize="small")
