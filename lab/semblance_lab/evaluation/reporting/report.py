"""Reports of evaluations: Markdown with plots of figures, and diagrams of reliability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from semblance.models.judgments.reliability import MapReliability
from semblance.service.cli.toolbox.console import TextTable
from semblance_lab.evaluation.reporting.tables import reliability_table, tables
from semblance_lab.evaluation.results import Evaluation, MeasureOutcome

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # colorblind-safe
MARKERS = ("o", "s", "^", "D")  # the next one when the colors repeat
ROW_INCHES = 0.22  # height of one interval in a plot


def write_report(evaluation: Evaluation, folder: Path) -> Path:
    """Write `report.md` and its plots to a folder, and return the path of `report.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = [
        outcome for outcome in evaluation.outcomes if outcome.comparable
    ]  # the scales of the others differ by measure
    about = "\n".join(f"* {key}: `{value}`" for key, value in {**evaluation.about, **evaluation.settings}.items())
    parts = [f"# Evaluation of {evaluation.about['model']}", about]
    for name, alt, canvas in (
        ("figures.png", "The figure of each measure on each set, with its interval", _figures(shown)),
        (
            "differences.png",
            "The difference of each measure to the baseline, with its interval",
            _differences(shown),
        ),
    ):
        if canvas is not None:
            canvas.savefig(folder / name, dpi=120)
            parts.append(f"![{alt}]({name})")
    parts += [markdown(table) for table in tables(evaluation)]
    return _write(folder, parts)


def _write(folder: Path, parts: Sequence[str]) -> Path:
    file = folder / "report.md"
    file.write_text("\n\n".join(parts) + "\n", "utf-8")
    return file


def _style(axes: Axes, grid: Literal["both", "x"]) -> None:
    axes.grid(axis=grid, color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def markdown(table: TextTable) -> str:
    """A table under its title as a heading."""
    rows = [tuple(map(_escaped, row)) for row in (table.header, *table.rows)]
    rows.insert(1, ("---",) * len(table.header))
    return "\n".join([f"## {_escaped(table.title)}", "", *(f"| {' | '.join(row)} |" for row in rows)])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _figures(outcomes: Sequence[MeasureOutcome]) -> Canvas:
    """Plot the main figure of every measure on every set."""
    points = [(outcome, (f := outcome.figures[0]).value, f.low, f.high) for outcome in outcomes]
    return _dots(points, _styles(outcomes), "figure times 100, with its interval")


def _differences(outcomes: Sequence[MeasureOutcome]) -> Canvas | None:
    """Plot the difference of every measure to the baseline on every set."""
    points = [(outcome, d.value, d.low, d.high) for outcome in outcomes if (d := outcome.against) is not None]
    if not points:
        return None
    [baseline] = {each.against.baseline for each, *_ in points if each.against is not None}
    canvas = _dots(points, _styles(outcomes), f"difference to {baseline} times 100, with its interval")
    canvas.axes[0].axvline(0, color="#888888", linewidth=1, zorder=0)
    return canvas


def _styles(outcomes: Sequence[MeasureOutcome]) -> dict[str, tuple[str, str]]:
    """Color and marker of each measure, the same in every plot of a report."""
    measures = dict.fromkeys(outcome.measure for outcome in outcomes)
    return {
        name: (COLORS[i % len(COLORS)], MARKERS[i // len(COLORS) % len(MARKERS)]) for i, name in enumerate(measures)
    }


def _dots(
    points: Sequence[tuple[MeasureOutcome, float, float, float]], styles: Mapping[str, tuple[str, str]], label: str
) -> Canvas:
    """Plot one row per set and measure: a dot at the value, a bar over the interval."""
    measures = list(dict.fromkeys(outcome.measure for outcome, *_ in points))
    sets = list(dict.fromkeys(f"{outcome.set} ({outcome.figures[0].name})" for outcome, *_ in points))
    canvas = Canvas(figsize=(8, 1.2 + ROW_INCHES * len(points) + 0.12 * len(sets)), layout="constrained")
    axes = canvas.add_subplot()
    for outcome, value, low, high in points:
        row, measure = sets.index(f"{outcome.set} ({outcome.figures[0].name})"), measures.index(outcome.measure)
        y = row + 0.8 * (measure - (len(measures) - 1) / 2) / len(measures)
        color, marker = styles[outcome.measure]
        axes.plot([100 * low, 100 * high], [y, y], color=color, linewidth=2, solid_capstyle="butt")
        axes.plot(100 * value, y, marker, color=color, markersize=5)
    for name in measures:
        axes.plot([], [], f"{styles[name][1]}-", color=styles[name][0], label=name)
    _format_axes(axes, sets, label)
    return canvas


def _format_axes(axes: Axes, sets: Sequence[str], label: str) -> None:
    axes.set_yticks(range(len(sets)), sets)
    axes.set_ylim(len(sets) - 0.5, -0.5)
    axes.set_xlabel(label)
    _style(axes, "x")
    axes.figure.legend(loc="outside upper center", ncols=3, frameon=False)


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
    return _write(folder, parts)


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
    _style(axes, "both")
