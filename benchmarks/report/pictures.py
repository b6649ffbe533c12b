"""Plots of benchmark figures for docs/performance.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from semblance_lab.evaluation.reporting.report import COLORS

WIDTH = 8.0  # inches


def serving(figures: Any) -> Canvas:
    """Sentences per second under each load, and the latency of small requests beside large ones."""
    rates, mixed, _ = figures
    loads = list(dict.fromkeys((row["texts_per_request"], row["clients"]) for row in rates))
    canvas, axes = _side_by_side(len(loads) + 1, 1.0 + 0.3 * len(mixed))
    for each, (texts, clients) in zip(axes, loads, strict=False):
        rows = [row for row in rates if (row["texts_per_request"], row["clients"]) == (texts, clients)]
        spans = [tuple(texts * row[name] for name in ("requests_per_s", "least", "most")) for row in rows]
        _bars(each, [row["server"] for row in rows], spans)
        each.set_xlabel("sentences per second")
        each.set_title(f"{clients} clients, {texts} a request", fontsize="medium")
    last = axes[-1]
    spans = [tuple(row[name] for name in ("p99_ms", "least_p99_ms", "most_p99_ms")) for row in mixed]
    _bars(last, [row["server"] for row in mixed], spans)
    last.set_xlabel("milliseconds, p99")
    last.set_title("small beside large requests", fontsize="medium")
    return canvas


def encoding(figures: Any) -> Canvas:
    """Sentences per second in batches and one at a time."""
    rows, _ = figures
    canvas, axes = _side_by_side(2, 2.4)
    for each, kind, title in zip(axes, ("batched", "one_at_a_time"), ("batches of 32", "one at a time"), strict=True):
        spans = [tuple(row[name] for name in (kind, f"{kind}_least", f"{kind}_most")) for row in rows]
        _bars(each, [row["encoder"] for row in rows], spans)
        each.set_xlabel("sentences per second")
        each.set_title(title, fontsize="medium")
    return canvas


def cached(figures: Any) -> Canvas:
    """Requests per second."""
    canvas, [axes] = _side_by_side(1, 1.8)
    spans = [tuple(row[name] for name in ("requests_per_s", "least", "most")) for row in figures]
    _bars(axes, [row["request"] for row in figures], spans)
    axes.set_xlabel("requests per second, 32 clients")
    return canvas


def growth(figures: Any) -> Canvas:
    """Costs by size, on logarithmic axes."""
    curves, costs = figures
    units = list(dict.fromkeys(curve["per"] for curve in curves))
    engines = list(dict.fromkeys(_engine(curve) for curve in curves))  # an engine has the same color in each plot
    canvas, axes = _side_by_side(len(units), 3.2, share=False)
    for each, unit in zip(axes, units, strict=True):
        unit_curves = [curve for curve in curves if curve["per"] == unit]
        for curve in unit_curves:
            points = [cost for cost in costs if cost["work"] == curve["work"]]
            x, y = ([point[name] for point in points] for name in ("size", "microseconds"))
            color = COLORS[engines.index(_engine(curve)) % len(COLORS)]
            each.loglog(x, y, "o-", color=color, label=f"{curve['work']} ({curve['exponent']:+.2f})")
        names = [curve["work"] for curve in unit_curves]
        sizes = sorted({cost["size"] for cost in costs if cost["work"] in names})
        each.set_xticks(sizes, [f"{size // 1024}k" if size % 1024 == 0 else str(size) for size in sizes])
        each.xaxis.minorticks_off()
        each.set_xlabel("tokens of a text" if unit == "token" else "documents")
        each.set_ylabel(f"microseconds a {unit}")
        values = [cost["microseconds"] for cost in costs if cost["work"] in names]
        each.set_ylim(0.5 * min(values), 2 * max(values))
        each.grid(alpha=0.3)
        each.legend(frameon=False, fontsize="x-small", loc="lower left", bbox_to_anchor=(0, 1))
    return canvas


def endurance(samples: Mapping[str, Sequence[float]]) -> Canvas:
    """Resident memory during the requests."""
    canvas, [axes] = _side_by_side(1, 2.6)
    for color, (kind, megabytes) in zip(COLORS, samples.items(), strict=False):
        shares = [100 * (number + 1) / len(megabytes) for number in range(len(megabytes))]
        axes.plot(shares, megabytes, color=color, label=f"{kind} requests")
    axes.set_xlabel("share of the requests, %")
    axes.set_ylabel("resident memory, MB")
    axes.set_ylim(0, 1.2 * max(map(max, samples.values())))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return canvas


def _engine(curve: Mapping[str, Any]) -> str:
    """The engine of a curve such as "searching exact"; the whole name if it has none."""
    return str(curve["work"]).rpartition(" ")[2]


def _side_by_side(count: int, height: float, *, share: bool = True) -> tuple[Canvas, list[Axes]]:
    """Plots side by side, with a shared y axis if `share`."""
    canvas = Canvas(figsize=(WIDTH if count < 3 else 1.4 * WIDTH, height), layout="constrained")
    axes = list(canvas.subplots(1, count, sharey=share, squeeze=False)[0])
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    return canvas, axes


def _bars(axes: Axes, names: Sequence[str], spans: Sequence[tuple[float, ...]]) -> None:
    """Horizontal bars with lines from minimum to maximum; our own bars are colored."""
    for row, (name, (middle, least, most)) in enumerate(zip(names, spans, strict=True)):
        color = COLORS[0] if name.startswith(("semblance", "/")) else "#999999"
        axes.barh(row, middle, color=color, height=0.7)
        axes.plot([least, most], [row, row], color="#222222", linewidth=1.2)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)


PICTURES: Mapping[str, tuple[str, Callable[[Any], Canvas]]] = {  # by section: name of the figures, plotting function
    "serving": ("serving", serving),
    "encoding": ("encoding", encoding),
    "cached": ("cached", cached),
    "growth": ("growth", growth),
    "endurance": ("endurance-memory", endurance),
}
