"""What the papers claim, put to the data at hand: one file a paper.

Each file holds `PAPER`, the key in references.bib, and `claims(bench)`. A claim about a model or data that are not here
is not decidable here; where another model stands in for the paper's, only the order of two systems is put to the test.
One that does not hold is a result.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, Protocol, TypeAlias, TypeVar, cast, get_args

from semblance.models import catalogue
from semblance.models.errors import UnknownName
from semblance.models.evaluation.scorer import LocalScorer
from semblance.models.evaluation.statistics.bootstrap import Interval, Resampling
from semblance.models.evaluation.tasks import Task
from semblance.models.protocols import Encoder

Verdict: TypeAlias = Literal["holds", "does not hold", "not decidable here"]
T = TypeVar("T", bound=Task)


class Bench(Protocol):
    """What reproductions work with."""

    @property
    def resampling(self) -> Resampling:
        """How intervals are made."""

    def task(self, name: str, kind: type[T]) -> T:
        """A set by its name. Raises BadDataSet."""

    def encoder(self, model: str) -> Encoder:
        """A model, loaded once: `minilm?pooling=max`, or FILE?weighting=sif... with FILE in the folder of data."""

    def scorer(self, model: str) -> LocalScorer:
        """That model as what gives scores."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a paper and what became of it.

    Attributes:
        where: table or section, row and column of the paper.
        says: the claim, with the paper's numbers.
        protocol: what was run here.
        ours: our number with its interval, times 100 as papers print theirs; why there is none otherwise.
        tolerance: how far off counts as the same, or what decides.
    """

    where: str
    says: str
    protocol: str
    ours: str
    tolerance: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Said:
    """The part of a claim that does not depend on what is found here."""

    where: str
    says: str
    protocol: str

    def is_greater(self, difference: Interval) -> Claim:
        """The claim that a difference is above zero: decided where zero lies outside its interval."""
        verdict: Verdict = "not decidable here"
        if difference.significant:
            verdict = "holds" if difference.estimate > 0 else "does not hold"
        return self._claim(_shown(difference, sign="+"), "0 outside the interval", verdict)

    def is_near(self, found: Interval, wanted: float, tolerance: float) -> Claim:
        """The claim of a number: undecided where the interval reaches both in and out of the tolerance."""
        low, high = wanted - tolerance, wanted + tolerance
        verdict: Verdict = "not decidable here"
        if low <= found.low and found.high <= high:
            verdict = "holds"
        elif found.high < low or found.low > high:
            verdict = "does not hold"
        return self._claim(_shown(found), f"{100 * wanted:g} ± {100 * tolerance:g}", verdict)

    def is_true(self, ours: str, decides: str, *, holds: bool) -> Claim:
        """A claim without chance in it, such as one that must hold for every pair; `decides` says when it does."""
        return self._claim(ours, decides, "holds" if holds else "does not hold")

    def is_at_most(self, ratios: Sequence[float], limit: float) -> Claim:
        """The claim that something takes no longer: undecided where some runs say so and others do not."""
        verdict: Verdict = "not decidable here"
        if max(ratios) <= limit or min(ratios) > limit:
            verdict = "holds" if max(ratios) <= limit else "does not hold"
        shown = f"{median(ratios):.2f} times as long ({min(ratios):.2f} to {max(ratios):.2f})"
        return self._claim(shown, f"at most {limit:.2f} in every run", verdict)

    def is_open(self, why: str) -> Claim:
        """A claim about what is not here."""
        return self._claim(why, "-", "not decidable here")

    def _claim(self, ours: str, tolerance: str, verdict: Verdict) -> Claim:
        return Claim(self.where, self.says, self.protocol, ours, tolerance, verdict)


def papers() -> tuple[str, ...]:
    """The papers by name."""
    return catalogue.names(__name__)


def claims(paper: str, bench: Bench) -> Iterator[Claim]:
    """The claims of a paper, one after the other.

    Raises:
        UnknownName: there is no such paper.
        BadDataSet: a set that a claim needs is missing.
    """
    if paper not in papers():
        raise UnknownName("papers", paper, papers())
    module = importlib.import_module(f"{__name__}.{paper}")
    return cast("Callable[[Bench], Iterator[Claim]]", module.claims)(bench)


def tally(found: Sequence[Claim]) -> dict[Verdict, int]:
    """How many claims came to each verdict."""
    return {verdict: sum(claim.verdict == verdict for claim in found) for verdict in get_args(Verdict)}


def _shown(interval: Interval, sign: str = "") -> str:
    value, low, high = (100 * each for each in (interval.estimate, interval.low, interval.high))
    return f"{value:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"
