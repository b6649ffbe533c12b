"""What is measured on a set, in a form that can be resampled: values as functions of how often each item counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.outcomes import Part
from semblance.models.evaluation.statistics.bootstrap import Statistic
from semblance.models.evaluation.statistics.counts import by_row_blocks


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """n items that are drawn from on their own, and the statistic of a draw."""

    n: int
    statistic: Statistic

    def by_groups(self, groups: NDArray[np.integer]) -> Sample:
        """The same drawn by whole groups: a group's count is that of each of its items (cluster bootstrap).

        Args:
            groups: (n,) the number of the group of each item, from 0 without gaps.

        Source: davison-hinkley-1997-bootstrap, section 3.8.
        """

        def statistic(counts: Doubles) -> Doubles:
            return by_row_blocks(lambda rows: self.statistic(rows[:, groups]), counts, self.n)

        return Sample(int(groups.max()) + 1, statistic)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A weighted mean of statistics of independent samples; most often of one.

    The "mean" of a SemEval year has a sample a subtask, each with the same share.
    """

    name: str
    samples: tuple[Sample, ...]
    shares: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, name: str, n: int, figure: Callable[..., Doubles], *data: object) -> Self:
        """The plain figure of n items: `figure(*data, counts)`."""
        return cls(name, (Sample(n, partial(figure, *data)),))

    def value(self) -> float:
        """The figure itself, where every item counts once."""
        return sum(
            share * float(sample.statistic(np.ones((1, sample.n)))[0])
            for share, sample in zip(self.shares, self.samples, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """What one measure came to on a set: quantities, the one to compare by first, and figures of the set's parts.

    `comparable` says whether the quantities of two measures are on one scale; `groups` how many groups the n items are
    resampled in, None if each is on its own.
    """

    kind: str
    n: int
    quantities: tuple[Quantity, ...]
    parts: Mapping[str, Part] = field(default_factory=dict)
    comparable: bool = True
    groups: int | None = None


def mean_value(name: str, values: Sequence[float]) -> Quantity:
    """The mean of one value an item, such as nDCG a query."""
    return Quantity.of(name, len(values), _mean, np.asarray(values, np.float64))


def _mean(values: Doubles, counts: Doubles) -> Doubles:
    mean: Doubles = counts @ values / counts.sum(axis=1)
    return mean
