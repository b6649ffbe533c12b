"""Reliability diagrams: the share of matches among pairs of about the same probability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from semblance.models.judgments.reliability import MapReliability
from semblance_lab.evaluation.reporting.report import COLORS, markdown
from semblance_lab.evaluation.reporting.tables import reliability_table

COLUMNS = 3
PANEL_INCHES = 3.2


def write_diagrams(model: str, maps: Mapping[str, Sequence[MapReliability]], folder: Path) -> Path:
    """Write `report.md` with a table and a diagram of each measure, and return its path.

    Args:
        model: name of the model.
        maps: measure -> its maps, tested.
        folder: created if missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f"# Reliability of probabilities under {model}"]
    for measure, tested in maps.items():
        name = f"reliability_{measure}.png"
        _diagram(f"{model}, {measure}", tested).savefig(folder / name, dpi=120)
        parts += [markdown(reliability_table(measure, tested)), f"![Reliability of {measure} on each set]({name})"]
    file = folder / "report.md"
    file.write_text("\n\n".join(parts) + "\n", "utf-8")
    return file


def _diagram(title: str, tested: Sequence[MapReliability]) -> Canvas:
    """A panel for each set that maps were tested on; a line for each map."""
    sets = list(dict.fromkeys(each.tested_on for each in tested))
    colors = {name: COLORS[i % len(COLORS)] for i, name in enumerate(dict.fromkeys(each.fitted_to for each in tested))}
    columns = min(COLUMNS, len(sets))
    rows = math.ceil(len(sets) / columns)
    canvas = Canvas(figsize=(PANEL_INCHES * columns + 0.4, PANEL_INCHES * rows + 1), layout="constrained")
    panels = list(canvas.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
    for name, axes in zip(sets, panels, strict=False):
        _panel(axes, name, [each for each in tested if each.tested_on == name], colors)
    for axes in panels[len(sets) :]:
        axes.set_visible(False)
    for axes in panels[max(len(sets) - columns, 0) : len(sets)]:  # the lowest of each column
        axes.set_xlabel("predicted probability")
        axes.tick_params(labelbottom=True)
    for axes in panels[::columns]:
        axes.set_ylabel("share of matches")
    canvas.suptitle(title)
    handles = [canvas.axes[0].plot([], [], color=color, label=f"fitted to {name}")[0] for name, color in colors.items()]
    canvas.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return canvas


def _panel(axes: Axes, name: str, tested: Sequence[MapReliability], colors: Mapping[str, str]) -> None:
    """The lines of one set: its own map with dots, those of other sets thin."""
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--")
    for each in tested:
        own, found = each.fitted_to == name, each.reliability
        style = {"marker": "o", "markersize": 4, "linewidth": 2, "zorder": 3} if own else {"linewidth": 1}
        axes.plot(found.predicted, found.observed, color=colors[each.fitted_to], **style)
    axes.set(xlim=(0, 1), ylim=(0, 1), title=name, aspect="equal")
    axes.grid(color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
