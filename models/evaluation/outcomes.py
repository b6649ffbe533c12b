"""What an evaluation found: figures with their intervals, of each measure on each set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """A quantity such as `spearman`, and the ends of its BCa interval; all between -1 and 1."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better than the baseline a measure is by a figure of the set, on the same resamples.

    The baseline is another measure, or the same one with another model. `significant` says that 0 lies outside the
    interval.
    """

    baseline: str
    value: float
    low: float
    high: float
    significant: bool


@dataclass(frozen=True, slots=True)
class Part:
    """Plain figures by name of n items that are a part of a set, such as a subtask of a SemEval year."""

    n: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one measure came to on one set of n items; the first of `figures` is the one to compare by.

    `against` is its difference to the baseline, `further_against` those of the other figures by name. `comparable` says
    whether the figures of two measures are on one scale. `groups` is how many groups the items were resampled in, as
    those of a group depend on each other; None if each was on its own.
    """

    set: str
    kind: str
    n: int
    measure: str
    figures: tuple[Figure, ...]
    parts: Mapping[str, Part] = field(default_factory=dict)
    against: Difference | None = None
    further_against: Mapping[str, Difference] = field(default_factory=dict)
    comparable: bool = True
    groups: int | None = None

    def against_by(self, name: str) -> Difference | None:
        """The difference of the figure of that name to the baseline, if any."""
        return self.against if name == self.figures[0].name else self.further_against.get(name)

    def figure(self, name: str) -> Figure:
        """The figure of that name. Raises KeyError: there is none."""
        return {each.name: each for each in self.figures}[name]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that one run found, and what it was run with; averages over sets stand last."""

    about: Mapping[str, str]
    settings: Mapping[str, int | float | str]
    outcomes: Sequence[Outcome]
