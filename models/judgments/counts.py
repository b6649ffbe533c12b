"""Metrics as functions of counts: a sample is a row with the multiplicity of each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles

Statistic: TypeAlias = Callable[[Doubles], Doubles]
"""From counts (b, n) to the figure of each of the b samples (b,); never nan."""

_ELEMENTS = 1 << 16  # counts in a block: a few arrays of 0.5 MB, which stay in a core's cache


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """n items that are resampled independently of others, and a statistic of them."""

    n: int
    statistic: Statistic

    def by_groups(self, groups: NDArray[np.integer]) -> Sample:
        """The sample resampled by groups: items have the count of their group (cluster bootstrap).

        Args:
            groups: (n,) the number of the group of each item, from 0 without gaps.

        Source: davison-hinkley-1997-bootstrap, section 3.8.
        """

        def statistic(counts: Doubles) -> Doubles:
            return by_row_blocks(lambda rows: self.statistic(rows[:, groups]), counts, self.n)

        return Sample(int(groups.max()) + 1, statistic)


@dataclass(frozen=True, slots=True)
class Metric:
    """A weighted mean of statistics of independent samples; usually of one sample.

    The "mean" of a SemEval year has a sample for each subtask, all with the same share.
    """

    name: str
    samples: tuple[Sample, ...]
    shares: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, name: str, n: int, figure: Callable[..., Doubles], *data: object) -> Self:
        """The metric of one sample of n items: `figure(*data, counts)`."""
        return cls(name, (Sample(n, partial(figure, *data)),))

    def value(self) -> float:
        """The figure itself, where every item counts once."""
        return sum(
            share * float(sample.statistic(np.ones((1, sample.n)))[0])
            for share, sample in zip(self.shares, self.samples, strict=True)
        )


def mean_value(name: str, values: Sequence[float]) -> Metric:
    """The mean of one value an item, such as the nDCG of each query."""
    return Metric.of(name, len(values), _mean, np.asarray(values, np.float64))


def by_row_blocks(of_rows: Callable[[Doubles], Doubles], counts: Doubles | None, n: int) -> Doubles:
    """(b,) the figure of each row of counts (b, n), computed in blocks; default: a row of ones."""
    rows = np.ones((1, n)) if counts is None else counts
    if not rows.size:
        return np.zeros(len(rows))
    return np.concatenate([of_rows(rows[block]) for block in row_blocks(len(rows), n, _ELEMENTS)])


def row_blocks(rows: int, width: int, elements: int) -> Iterator[slice]:
    """Split `rows` rows of `width` into blocks of at most `elements` elements, or of one row.

    >>> list(row_blocks(5, 10, elements=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    height = max(1, elements // max(width, 1))
    yield from (slice(start, min(start + height, rows)) for start in range(0, rows, height))


def ratio(part: Doubles, whole: Doubles) -> Doubles:
    """Part over whole, element by element; 0 where the whole is not above 0.

    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    quotient: Doubles = np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
    return quotient


def _mean(values: Doubles, counts: Doubles) -> Doubles:
    mean: Doubles = counts @ values / counts.sum(axis=1)
    return mean
