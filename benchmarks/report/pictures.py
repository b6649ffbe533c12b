"""Pictures of what benchmarks came to, for docs/performance.md: each of the figures that a benchmark kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from semblance.models.evaluation.reporting.report import COLOURS

WIDTH = 8.0  # inches


def serving(figures: Any) -> Canvas:
    """Sentences a second under both loads, and how long small requests beside large ones took."""
    rates, beside = figures
    loads = list(dict.fromkeys((row["texts_per_request"], row["clients"]) for row in rates))
    canvas, axes = _side_by_side(len(loads) + 1, 2.6)
    for each, (texts, clients) in zip(axes, loads, strict=False):
        rows = [row for row in rates if (row["texts_per_request"], row["clients"]) == (texts, clients)]
        spans = [tuple(texts * row[name] for name in ("requests_per_s", "least", "most")) for row in rows]
        _bars(each, [row["server"] for row in rows], spans)
        each.set_xlabel("sentences a second")
        each.set_title(f"{clients} clients, {texts} a request", fontsize="medium")
    last = axes[-1]
    spans = [tuple(row[name] for name in ("p99_ms", "least_p99_ms", "most_p99_ms")) for row in beside]
    _bars(last, [row["server"] for row in beside], spans)
    last.set_xlabel("milliseconds, p99")
    last.set_title("small beside large requests", fontsize="medium")
    return canvas


def encoding(figures: Any) -> Canvas:
    """Sentences a second in batches and one at a time."""
    rows, _ = figures
    canvas, axes = _side_by_side(2, 2.4)
    for each, kind, title in zip(axes, ("batched", "one_at_a_time"), ("batches of 32", "one at a time"), strict=True):
        spans = [tuple(row[name] for name in (kind, f"{kind}_least", f"{kind}_most")) for row in rows]
        _bars(each, [row["encoder"] for row in rows], spans)
        each.set_xlabel("sentences a second")
        each.set_title(title, fontsize="medium")
    return canvas


def cached(figures: Any) -> Canvas:
    """Requests a second."""
    canvas, [axes] = _side_by_side(1, 1.8)
    spans = [tuple(row[name] for name in ("requests_per_s", "least", "most")) for row in figures]
    _bars(axes, [row["request"] for row in figures], spans)
    axes.set_xlabel("requests a second, 32 clients")
    return canvas


def growth(figures: Any) -> Canvas:
    """Costs by size, in logarithms."""
    curves, costs = figures
    units = list(dict.fromkeys(curve["per"] for curve in curves))
    engines = list(dict.fromkeys(_engine(curve) for curve in curves))  # each has one colour wherever it stands
    canvas, axes = _side_by_side(len(units), 3.2, share=False)
    for each, unit in zip(axes, units, strict=True):
        works = [curve for curve in curves if curve["per"] == unit]
        for curve in works:
            points = [cost for cost in costs if cost["work"] == curve["work"]]
            at, taken = ([point[name] for point in points] for name in ("size", "microseconds"))
            colour = COLOURS[engines.index(_engine(curve)) % len(COLOURS)]
            each.loglog(at, taken, "o-", color=colour, label=f"{curve['work']} ({curve['exponent']:+.2f})")
        sizes = sorted({cost["size"] for cost in costs if cost["work"] in {curve["work"] for curve in works}})
        each.set_xticks(sizes, [f"{size // 1024}k" if size % 1024 == 0 else str(size) for size in sizes])
        each.xaxis.minorticks_off()
        each.set_xlabel("tokens of a text" if unit == "token" else "documents")
        each.set_ylabel(f"microseconds a {unit}")
        names = [curve["work"] for curve in works]
        taken = [cost["microseconds"] for cost in costs if cost["work"] in names]
        each.set_ylim(0.5 * min(taken), 2 * max(taken))
        each.grid(alpha=0.3)
        each.legend(frameon=False, fontsize="x-small", loc="lower left", bbox_to_anchor=(0, 1))
    return canvas


def endurance(samples: Mapping[str, Sequence[float]]) -> Canvas:
    """Resident memory in the course of the requests."""
    canvas, [axes] = _side_by_side(1, 2.6)
    for colour, (kind, megabytes) in zip(COLOURS, samples.items(), strict=False):
        shares = [100 * (number + 1) / len(megabytes) for number in range(len(megabytes))]
        axes.plot(shares, megabytes, color=colour, label=f"{kind} requests")
    axes.set_xlabel("share of the requests, %")
    axes.set_ylabel("resident memory, MB")
    axes.set_ylim(0, 1.2 * max(map(max, samples.values())))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return canvas


def _engine(curve: Mapping[str, Any]) -> str:
    """The engine of a work such as "searching exact"; the work itself where there is none."""
    return str(curve["work"]).rpartition(" ")[2]


def _side_by_side(count: int, height: float, *, share: bool = True) -> tuple[Canvas, list[Axes]]:
    """Plots in a row, whose bars have the same names where these are shared."""
    canvas = Canvas(figsize=(WIDTH if count < 3 else 1.4 * WIDTH, height), layout="constrained")
    axes = list(canvas.subplots(1, count, sharey=share, squeeze=False)[0])
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    return canvas, axes


def _bars(axes: Axes, names: Sequence[str], spans: Sequence[tuple[float, ...]]) -> None:
    """A bar for each name, with a whisker from the least to the most; ours, which come first, in a colour of theirs."""
    for row, (name, (middle, least, most)) in enumerate(zip(names, spans, strict=True)):
        colour = COLOURS[0] if name.startswith(("semblance", "/")) else "#999999"
        axes.barh(row, middle, color=colour, height=0.7)
        axes.plot([least, most], [row, row], color="#222222", linewidth=1.2)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)


PICTURES: Mapping[str, tuple[str, Callable[[Any], Canvas]]] = {  # by benchmark: the figures that it kept, and the way
    "serving": ("serving", serving),
    "encoding": ("encoding", encoding),
    "cached": ("cached", cached),
    "growth": ("growth", growth),
    "endurance": ("endurance-memory", endurance),
}
