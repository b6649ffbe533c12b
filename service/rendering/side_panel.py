"""Side panel of a picture: color legend, and parts of the score as bars that sum to it."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree as ET

from semblance.models.explanation import Explanation
from semblance.service.rendering.colors import FAINT_INK, INK, NEGATIVE, POSITIVE, RULE, ColorScale
from semblance.service.rendering.labels import SCORE_DECIMALS, decimals_for, plain, rounded_parts, signed, ticks
from semblance.service.rendering.layout import NOTE_SIZE, PANEL_WIDTH
from semblance.service.rendering.svg_text import Anchor, Point, Style, px, write

_LEGEND_STOPS = 9
_LEGEND_HEIGHT = 14.0
_LEGEND_ENDS: tuple[tuple[float, Anchor, str], ...] = (
    (-1.0, "start", "lowers the score"),
    (1.0, "end", "raises the score"),
)

_NAME_WIDTH, _NUMBER_WIDTH = 64.0, 66.0
_ROW, _BAR = 27.0, 15.0
_PART_NAMES = ("links", "special", "omitted")


def draw_legend(parent: ET.Element, at: Point, scale: ColorScale, *, distance: bool, matched: bool) -> None:
    """Draw the color scale from -limit to limit; `at` is its upper left corner.

    The links of a `distance` only lower the score; if some have `matched` at distance 0, these are outlined.
    """
    group = ET.SubElement(parent, "g", {"class": "legend"})
    x, y = at
    write(group, (x, y + 11), "Contribution of a link", Style(size=13.0, bold=True))
    gradient = ET.SubElement(ET.SubElement(group, "defs"), "linearGradient", {"id": "contribution-scale"})
    for i in range(_LEGEND_STOPS):
        share = i / (_LEGEND_STOPS - 1)
        color = scale.color((2 * share - 1) * scale.limit)
        ET.SubElement(gradient, "stop", {"offset": f"{share:.3f}", "stop-color": color})
    bar = {"x": px(x), "y": px(y + 24), "width": px(PANEL_WIDTH), "height": px(_LEGEND_HEIGHT), "stroke": RULE}
    ET.SubElement(group, "rect", bar | {"fill": "url(#contribution-scale)"})
    below = y + 24 + _LEGEND_HEIGHT
    write(group, (x + PANEL_WIDTH / 2, below + 16), "0", Style(size=11.0, fill=FAINT_INK, anchor="middle"))
    if matched:
        note = "outlined: the same to the model, at distance 0"
        write(group, (x, below + 46), note, Style(size=NOTE_SIZE, fill=FAINT_INK))
    ends = _LEGEND_ENDS[:1] if distance else _LEGEND_ENDS
    for end, anchor, meaning in ends if scale.limit > 0 else ():
        style = Style(size=11.0, fill=FAINT_INK, anchor=anchor)
        edge = x + (end + 1) / 2 * PANEL_WIDTH
        write(group, (edge, below + 16), signed(end * scale.limit, decimals_for(scale.limit)), style)
        write(group, (edge, below + 31), meaning, style)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar from `start` to `end`; its length is the printed number."""

    name: str
    start: float
    end: float


def printed_parts(explanation: Explanation) -> dict[str, float]:
    """The three parts of the score, rounded so that they sum to the rounded score."""
    parts = (float(explanation.contribution.sum()), explanation.special, explanation.omitted)
    rounded = rounded_parts(parts, explanation.score, SCORE_DECIMALS)
    return dict(zip(_PART_NAMES, rounded, strict=True))


def bars_of(explanation: Explanation) -> tuple[Bar, ...]:
    """One bar for each part, end to end, and one from 0 for the score."""
    bars, reached = [], 0.0
    for name, part in printed_parts(explanation).items():
        bars.append(Bar(name, reached, reached + part))
        reached += part
    return (*bars, Bar("score", 0.0, round(explanation.score, SCORE_DECIMALS)))


def draw_bars(parent: ET.Element, at: Point, explanation: Explanation) -> None:
    """Draw the bars over a common axis; `at` is the upper left corner."""
    group = ET.SubElement(parent, "g", {"class": "parts"})
    write(group, (at[0], at[1] + 11), "Parts of the score", Style(size=13.0, bold=True))
    bars = bars_of(explanation)
    chart = _Chart.around(bars, (at[0], at[1] + 28))
    _draw_axis(group, chart, len(bars))
    note = Style(size=NOTE_SIZE, fill=FAINT_INK)
    write(group, (at[0], chart.top + len(bars) * _ROW + 38), "special: tokens that the model adds, such as [CLS]", note)
    for row, bar in enumerate(bars):
        _draw_bar(group, chart, row, bar)


@dataclass(frozen=True, slots=True)
class _Chart:
    left: float
    top: float
    low: float
    high: float

    @classmethod
    def around(cls, bars: tuple[Bar, ...], at: Point) -> _Chart:
        ends = [0.0, *(bar.end for bar in bars)]
        low, high = min(ends), max(ends)
        return cls(*at, low, high if high > low else 1.0)

    @property
    def right(self) -> float:
        return self.left + PANEL_WIDTH

    def place(self, value: float) -> float:
        width = PANEL_WIDTH - _NAME_WIDTH - _NUMBER_WIDTH
        return self.left + _NAME_WIDTH + (value - self.low) / (self.high - self.low) * width


def _draw_axis(group: ET.Element, chart: _Chart, rows: int) -> None:
    bottom = chart.top + rows * _ROW
    for value, written in ticks(chart.low, chart.high):
        x = chart.place(value)
        _rule(group, (x, chart.top - 5), (x, bottom), FAINT_INK if value == 0 else RULE)
        write(group, (x, bottom + 15), written, Style(size=11.0, anchor="middle", fill=FAINT_INK))


def _draw_bar(group: ET.Element, chart: _Chart, row: int, bar: Bar) -> None:
    total = bar.name == "score"
    length = bar.end - bar.start
    y = chart.top + row * _ROW
    start, end = sorted((chart.place(bar.start), chart.place(bar.end)))
    if not total:  # a line to the start of the next bar
        _rule(group, (chart.place(bar.end), y + _BAR), (chart.place(bar.end), y + _ROW + _BAR), INK)
    fill = INK if total else POSITIVE if length >= 0 else NEGATIVE
    width = max(end - start, 1.0) if length else 0.0
    place = {"x": px(start), "y": px(y), "width": px(width), "height": px(_BAR), "fill": fill}
    ET.SubElement(group, "rect", place | {"data-part": bar.name})
    write(group, (chart.left, y + 12), bar.name, Style(bold=total))
    number = plain(length, SCORE_DECIMALS) if total else signed(length, SCORE_DECIMALS)
    written = write(group, (chart.right, y + 12), number, Style(anchor="end", bold=total))
    written.set("data-value", bar.name)


def _rule(group: ET.Element, start: Point, end: Point, stroke: str) -> None:
    ends = {"x1": px(start[0]), "y1": px(start[1]), "x2": px(end[0]), "y2": px(end[1])}
    ET.SubElement(group, "line", ends | {"stroke": stroke, "stroke-width": "1"})
