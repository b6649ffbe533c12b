"""A bound on a figure that a machine measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Measure = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Bound:
    """A claim on a figure, with the function that measures it.

    Attributes:
        claim: first line of the function's docstring.
        side: whether the figure may be at most or at least the limit.
        limit: in `unit`.
        unit: such as "s", "ms" or "times".
        measure: returns the figure; the median where it varies.
    """

    claim: str
    side: Literal["at most", "at least"]
    limit: float
    unit: str
    measure: Measure

    def kept_by(self, figure: float) -> bool:
        """Whether the figure is on the right side of the limit."""
        return figure <= self.limit if self.side == "at most" else figure >= self.limit


BOUNDS: list[Bound] = []


def at_most(limit: float, unit: str) -> Callable[[Measure], Measure]:
    """Register a function whose figure may be at most `limit`."""
    return lambda measure: _registered("at most", limit, unit, measure)


def at_least(limit: float, unit: str) -> Callable[[Measure], Measure]:
    """Register a function whose figure must be at least `limit`."""
    return lambda measure: _registered("at least", limit, unit, measure)


def _registered(side: Literal["at most", "at least"], limit: float, unit: str, measure: Measure) -> Measure:
    claim = (measure.__doc__ or "").partition("\n")[0]
    assert claim, f"{measure.__name__} needs a docstring: its first line is the claim"
    BOUNDS.append(Bound(claim, side, limit, unit, measure))
    return measure
