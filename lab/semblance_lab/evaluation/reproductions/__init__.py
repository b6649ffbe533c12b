"""Claims of papers, tested on the available data: one file per paper.

Each file has `PAPER`, the key in references.bib, and `claims(context)`. A claim about a model or data that are not
available is "not decidable here"; where another model replaces the paper's, only the order of two systems is tested. A
claim that does not hold is a result.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, Protocol, TypeAlias, TypeVar, cast, get_args

from semblance.models import catalogue
from semblance.models.errors import UnknownName
from semblance.models.judgments.bootstrap import Interval, Resampling
from semblance.models.protocols import Encoder
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.tasks import Task

Verdict: TypeAlias = Literal["holds", "does not hold", "not decidable here"]
T = TypeVar("T", bound=Task)


class ReproductionContext(Protocol):
    """Sets, models and settings of reproductions."""

    @property
    def resampling(self) -> Resampling:
        """Settings of the intervals."""

    def task(self, name: str, kind: type[T]) -> T:
        """The set of that name. Raises BadDataSet."""

    def encoder(self, model: str) -> Encoder:
        """The model of a source such as `minilm?pooling=max` or `{data}/FILE?weighting=sif`."""

    def scorer(self, model: str) -> LocalScorer:
        """The scorer of that model."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper, our number and the verdict.

    Attributes:
        where: table or section, row and column of the paper.
        says: the claim, with the paper's numbers.
        protocol: the experiment that was run.
        ours: our number with its interval, times 100 as in the papers; otherwise why there is none.
        tolerance: the difference that counts as equal, or the criterion.
    """

    where: str
    says: str
    protocol: str
    ours: str
    tolerance: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Statement:
    """The part of a claim before our experiment; its methods add result and verdict."""

    where: str
    says: str
    protocol: str

    def is_greater(self, difference: Interval) -> Claim:
        """The claim that a difference is above zero: decided if its interval excludes zero."""
        verdict: Verdict = "not decidable here"
        if difference.significant:
            verdict = "holds" if difference.estimate > 0 else "does not hold"
        return self._claim(_format(difference, sign="+"), "0 outside the interval", verdict)

    def is_near(self, ours: Interval, expected: float, tolerance: float) -> Claim:
        """The claim of a number: undecided if the interval is only partly within the tolerance."""
        low, high = expected - tolerance, expected + tolerance
        verdict: Verdict = "not decidable here"
        if low <= ours.low and ours.high <= high:
            verdict = "holds"
        elif ours.high < low or ours.low > high:
            verdict = "does not hold"
        return self._claim(_format(ours), f"{100 * expected:g} ± {100 * tolerance:g}", verdict)

    def is_true(self, ours: str, criterion: str, *, holds: bool) -> Claim:
        """A claim without randomness, such as one about every pair; `criterion` says when it holds."""
        return self._claim(ours, criterion, "holds" if holds else "does not hold")

    def is_at_most(self, ratios: Sequence[float], limit: float) -> Claim:
        """The claim of a largest ratio of times: undecided if the runs disagree."""
        verdict: Verdict = "not decidable here"
        if max(ratios) <= limit or min(ratios) > limit:
            verdict = "holds" if max(ratios) <= limit else "does not hold"
        shown = f"{median(ratios):.2f} times as long ({min(ratios):.2f} to {max(ratios):.2f})"
        return self._claim(shown, f"at most {limit:.2f} in every run", verdict)

    def is_undecidable(self, why: str) -> Claim:
        """A claim about models or data that are not available."""
        return self._claim(why, "-", "not decidable here")

    def _claim(self, ours: str, tolerance: str, verdict: Verdict) -> Claim:
        return Claim(self.where, self.says, self.protocol, ours, tolerance, verdict)


def undecidable(*rows: tuple[str, str, str]) -> Iterator[Claim]:
    """Claims about models or data that are not available: rows of place, claim and need."""
    for where, says, needs in rows:
        yield Statement(where, says, "-").is_undecidable(f"needs {needs}")


def papers() -> tuple[str, ...]:
    """The names of the papers."""
    return catalogue.names(__name__)


def claims(paper: str, context: ReproductionContext) -> Iterator[Claim]:
    """Test the claims of a paper, one by one.

    Raises:
        UnknownName: unknown paper.
        BadDataSet: a required set is missing.
    """
    if paper not in papers():
        raise UnknownName("papers", paper, papers())
    module = importlib.import_module(f"{__name__}.{paper}")
    return cast("Callable[[ReproductionContext], Iterator[Claim]]", module.claims)(context)


def count_verdicts(tested: Sequence[Claim]) -> dict[Verdict, int]:
    """The number of claims with each verdict."""
    return {verdict: sum(claim.verdict == verdict for claim in tested) for verdict in get_args(Verdict)}


def _format(interval: Interval, sign: str = "") -> str:
    value, low, high = (100 * each for each in (interval.estimate, interval.low, interval.high))
    return f"{value:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"
