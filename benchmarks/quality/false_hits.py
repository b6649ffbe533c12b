"""Is the bound on false hits kept, on pairs that the cut was not fitted to?

    python -m benchmarks.quality.false_hits --data "$SEMBLANCE_DATA"

fits the cut of a bound, as `semblance calibrate --same` does, to one half of the labeled questions of QQP dev, and
counts the false hits and hits of the other half, 100 times. `rejected` counts the splits in which an exact binomial
test (one side, 5 %) rejects that the false-hit rate is within the bound. The rules are the cosine, `rcmd_words` and the
paraphrase classifier.

The second table is of pairs of other kinds (see benchmarks.quality.paraphrases): the share that a cut takes for the
same, fitted to all questions alone, and to the questions and all kinds but the one of the column.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.table import Table
from scipy.stats import binomtest

from benchmarks.quality.paraphrases import DUPLICATES, SHIPPED, pairs_of, scores
from semblance.models.embeddings import Doubles
from semblance.models.judgments.false_hits import bounded_cut
from semblance.models.paraphrases.classifier import ParaphraseClassifier
from semblance.models.text import Booleans
from tests.support.results import save_results
from tests.support.wide_console import wide_console

ALLOWED = (0.002, 0.005, 0.01, 0.02, 0.05)
RULES = ("cosine", "rcmd_words", "classifier")
SPLITS = 100
SEED = 1
ALL = 10_000  # questions by label
QUESTIONS, SYNONYMS = "questions", "synonyms"


@dataclass(frozen=True, slots=True)
class Row:
    """Figures of a rule and a bound on the halves that the cut was not fitted to, in percent; `rejected` of 100."""

    rule: str
    allowed: float
    hits: float
    false_hits: float
    highest: float
    rejected: int


@dataclass(frozen=True, slots=True)
class KindRow:
    """Share of the pairs of each kind that the cut of a bound takes for the same, in percent."""

    rule: str
    allowed: float
    fitted_to: str
    taken: Mapping[str, float]


def row_of(rule: str, values: Doubles, matches: Booleans, allowed: float) -> Row:
    """Fit and test the cut of a bound in random halves."""
    rng = np.random.default_rng(SEED)
    hits, false_hits, rejected = [], [], 0
    for _ in range(SPLITS):
        order = rng.permutation(len(values))
        fitted, tested = np.array_split(order, 2)
        cut = bounded_cut(values[fitted], matches[fitted], allowed)
        taken = values[tested] >= (np.inf if cut is None else cut.cut)
        different = ~matches[tested]
        hits.append(taken[~different].mean())
        false_hits.append(taken[different].mean())
        test = binomtest(int(taken[different].sum()), int(different.sum()), allowed, alternative="greater")
        rejected += int(test.pvalue < 0.05)
    return Row(
        rule=rule,
        allowed=allowed,
        hits=100 * float(np.mean(hits)),
        false_hits=100 * float(np.mean(false_hits)),
        highest=100 * float(np.max(false_hits)),
        rejected=rejected,
    )


def kind_rows(rule: str, values: Doubles, kinds: np.ndarray) -> Iterator[KindRow]:
    """Fit the cut of a bound to questions, and to all kinds but one."""
    matches, questions = np.isin(kinds, (DUPLICATES, SYNONYMS)), np.isin(kinds, (DUPLICATES, QUESTIONS))
    others = [kind for kind in dict.fromkeys(kinds.tolist()) if kind not in (DUPLICATES, QUESTIONS, SYNONYMS)]
    for allowed in ALLOWED:
        alone = bounded_cut(values[questions], matches[questions], allowed)
        rest = {kind: bounded_cut(values[kinds != kind], matches[kinds != kind], allowed) for kind in others}
        for fitted, cuts in (("questions", dict.fromkeys(others, alone)), ("all but this kind", rest)):
            taken = {kind: 100 * float((values[kinds == kind] >= cut.cut).mean()) for kind, cut in cuts.items() if cut}
            yield KindRow(rule, allowed, fitted, taken)


def main() -> None:
    """Score all pairs, print and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--classifier", type=Path, default=SHIPPED, help="safetensors file of a classifier")
    options = parser.parse_args()
    pairs = [*pairs_of(options.data, ALL)]
    kinds = np.array([pair.kind for pair in pairs])
    found = scores(pairs, ParaphraseClassifier.read(options.classifier))
    asked = np.isin(kinds, (DUPLICATES, QUESTIONS))
    rows = [
        row_of(rule, found[rule][asked], kinds[asked] == DUPLICATES, allowed) for rule in RULES for allowed in ALLOWED
    ]
    table = Table("rule", "at most", "hits", "false hits, mean", "highest", f"rejected of {SPLITS}")
    for row in rows:
        figures = (f"{row.hits:.1f}", f"{row.false_hits:.2f}", f"{row.highest:.2f}", str(row.rejected))
        table.add_row(row.rule, f"{row.allowed:.1%}", *figures)
    wide_console().print(table)
    by_kind = [row for rule in RULES for row in kind_rows(rule, found[rule], kinds)]
    table = Table("rule", "at most", "fitted to", *by_kind[0].taken)
    for each in by_kind:
        shares = (f"{share:.1f}" for share in each.taken.values())
        table.add_row(each.rule, f"{each.allowed:.1%}", each.fitted_to, *shares)
    wide_console().print(table)
    save_results("false_hits", {"questions": [asdict(row) for row in rows], "kinds": [asdict(row) for row in by_kind]})


if __name__ == "__main__":
    main()
