"""A training run: its inputs, its progress, and its curves as JSON and as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from semblance.models.model_files.checkpoint import Checkpoint
from semblance_lab.evaluation.reporting.report import COLORS
from semblance_lab.evaluation.tasks import Task, WordAlignedPair
from semblance_lab.training.dev_sets import MEAN
from semblance_lab.training.recipe import Recipe
from semblance_lab.training.training_data import RunningText, TrainingRows

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
            **({} if self.running_text is None else _about_running_text(self.running_text)),
        }


def _about_running_text(running: RunningText) -> Mapping[str, Any]:
    return {"kept_texts": len(running), "kept_texts_removed": running.removed, "kept_sha256": running.sha256}


@dataclass(frozen=True, slots=True)
class Curves:
    """Points of a run: (step, mean loss, learning rate), and (step, set -> figure)."""

    loss: Sequence[tuple[int, float, float]]
    dev: Sequence[tuple[int, Mapping[str, float]]]

    @property
    def best(self) -> tuple[int, float] | None:
        """Step with the highest mean dev figure, and that mean; step 0 has no checkpoint."""
        after = [(step, figures[MEAN]) for step, figures in self.dev if step > 0]
        return max(after, key=lambda point: point[1], default=None)

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
