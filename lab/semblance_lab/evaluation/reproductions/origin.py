"""Origin and its surrogate: similarity from contexts (sun-etal-2022-origin)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from semblance_lab.evaluation.reproductions import Claim, ReproductionContext, Statement, undecidable

PAPER = "sun-etal-2022-origin"
PRINTED = {  # model -> the seven STS figures of a row, and the average printed with them
    "Origin": ((72.41, 74.30, 75.45, 78.45, 79.93, 78.47, 79.49), 76.93),
    "Surrogate-base": ((70.62, 72.14, 72.72, 76.34, 75.24, 74.19, 77.20), 74.06),
    "Surrogate-large": ((71.93, 73.74, 73.95, 77.01, 76.64, 75.32, 77.84), 75.20),
}


def claims(context: ReproductionContext) -> Iterator[Claim]:
    """Printed averages; all other claims need the paper's models, none of which is public."""
    del context
    for model, (row, average) in PRINTED.items():
        statement = Statement(
            f"Table 2, {model}, Avg.", f"the mean over the seven sets is {average:.2f}", "the mean of the printed row"
        )
        yield statement.is_true(f"{fmean(row):.2f}", "the same two digits", holds=abs(fmean(row) - average) < 0.01)
    yield from undecidable(
        (
            "Table 2, Avg.",
            "without labels, Origin (76.93) is better than its surrogates (74.06 base, 75.20 large)",
            "Origin, trained on 100 billion tokens, and its surrogates",
        ),
        (
            "Table 2, Avg.",
            "without labels, BERTScore (58.11) and USE (71.22) are not as good as the surrogate (74.06)",
            "BERTScore's model, USE and the surrogate",
        ),
        (
            "Table 7",
            "larger sets of contexts are better: 66.25, 73.93, 78.47, 78.56 on STS-B with 20, 100, 500, 1,000 of them",
            "Origin, trained on 100 billion tokens",
        ),
        (
            "Table 9",
            "every module adds: 78.47 on STS-B in full, 77.97 without the discriminative one, 76.50 without both sides",
            "Origin, trained on 100 billion tokens",
        ),
    )
