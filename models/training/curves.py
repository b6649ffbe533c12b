"""How a run went: its loss and its dev figures, as JSON for programs and as a picture for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from semblance.models.evaluation.reporting.report import COLOURS
from semblance.models.training.dev_sets import MEAN

FEW = 20  # points that are marked one by one
_EVAL = "eval_"


@dataclass(frozen=True, slots=True)
class Curves:
    """Points of a run by step: (step, mean loss since the one before, learning rate), and (step, set -> figure)."""

    loss: Sequence[tuple[int, float, float]]
    dev: Sequence[tuple[int, Mapping[str, float]]]

    @property
    def best(self) -> tuple[int, float] | None:
        """The step whose weights are kept for their mean of the dev figures, and that mean; the start is not kept."""
        after = [(step, figures[MEAN]) for step, figures in self.dev if step > 0]
        return max(after, key=lambda point: point[1], default=None)

    def as_json(self) -> Mapping[str, Any]:
        """For a file of JSON."""
        return {
            "loss": [{"step": step, "loss": loss, "learning_rate": rate} for step, loss, rate in self.loss],
            "dev": [{"step": step, **figures} for step, figures in self.dev],
        }


def curves_of(log: Sequence[Mapping[str, Any]], sets: Sequence[str]) -> Curves:
    """The points of a trainer's log."""
    return Curves(
        loss=[(each["step"], each["loss"], each["learning_rate"]) for each in log if "loss" in each],
        dev=[
            (each["step"], {name: each[_EVAL + name] for name in (*sets, MEAN)}) for each in log if _EVAL + MEAN in each
        ],
    )


def draw(curves: Curves, title: str, measure: str, file: Path) -> None:
    """The picture: the loss above, the dev figures below where there are some."""
    canvas = Canvas(figsize=(7, 5 if curves.dev else 2.8), layout="constrained")
    axes = canvas.subplots(2 if curves.dev else 1, 1, sharex=True, squeeze=False)[:, 0]
    axes[0].set_title(title)
    loss = [value for _, value, _ in curves.loss]
    axes[0].plot([step for step, *_ in curves.loss], loss, color=COLOURS[0], marker="." if len(loss) < FEW else "")
    axes[0].set_ylabel("loss")
    if curves.dev:
        _draw_dev(axes[1], curves, measure)
    axes[-1].set_xlabel("step")
    for each in axes:
        each.grid(alpha=0.3)
        each.spines[["top", "right"]].set_visible(False)
    canvas.savefig(file, dpi=120)


def _draw_dev(axes: Axes, curves: Curves, measure: str) -> None:
    steps = [step for step, _ in curves.dev]
    sets = curves.dev[0][1]
    names = [name for name in sets if name != MEAN or len(sets) > 2]  # the mean of one set is that set
    for name, colour in zip(names, COLOURS, strict=False):
        label = "their mean" if name == MEAN else name
        axes.plot(steps, [100 * figures[name] for _, figures in curves.dev], marker="o", label=label, color=colour)
    if curves.best is not None:
        step, mean = curves.best
        axes.axvline(step, color="#888888", linewidth=1, zorder=0)
        axes.set_title(f"kept: step {step}, with {100 * mean:.2f}", loc="right", fontsize="small")
    axes.set_ylabel(f"dev by {measure}, times 100")
    axes.legend(frameon=False, fontsize="small")
