"""DynaMax: fuzzy sets of static word vectors (zhelezniak-etal-2019-dynamax).

The protocol is the paper's: Pearson's r of each subtask, the unweighted mean of each year (24 subtasks in STS12 to
STS16), BCa intervals of paired differences. The vectors and the word splitter are different. In 23 pairs, no word of a
sentence is in the small vocabulary of GloVe: they score 0, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles, Floats, TokenEmbeddings, unit_rows
from semblance.models.judgments.bootstrap import Interval, Resampling, bca, bca_mean, difference
from semblance.models.judgments.pairs import GradedPairs
from semblance.models.projections.common_component_removal import CommonComponentRemoval
from semblance_lab.evaluation.metrics.scores import correlations
from semblance_lab.evaluation.reproductions import Claim, ReproductionContext, Statement, undecidable

PAPER = "zhelezniak-etal-2019-dynamax"
YEARS = ("sts12", "sts13", "sts14", "sts15", "sts16")
GLOVE, POTION = "{data}/vectors/glove6B_50d_5k.npz", "{data}/vectors/potion_base_4m_int8.npz"
SIF = "?weighting=sif&frequencies={data}/lexicon/enwiki_vocab_min200.tsv"
VECTORS = {
    GLOVE: "GloVe 6B 50d, 5,050 words",
    POTION: "potion (model2vec, 128d), whose teacher was trained on paraphrases",
}
CATALOGUE_MEASURES = (  # systems that are measures of the catalogue
    "cosine",
    "dynamax_jaccard",
    "dynamax_otsuka",
    "dynamax_dice",
    "dynamax_cosine",
    "max_pooled_jaccard",
    "max_pooled_cosine",
)
SIMILAR = 0.015  # of r: above the largest difference of printed means over the years, 0.011
PRINTED = {  # average cosine and DynaMax-Jaccard by year
    "GloVe": ((52.1, 49.6, 54.6, 56.1, 51.4), (58.2, 53.9, 65.1, 70.9, 71.1)),
    "fastText": ((58.3, 57.9, 64.9, 67.6, 64.3), (60.9, 60.3, 69.5, 76.7, 74.6)),
    "word2vec": ((51.6, 58.2, 65.6, 67.5, 64.7), (53.7, 59.5, 68.0, 74.2, 71.3)),
}
ON_PARAPHRASES = ((61.3, 65.6, 72.7, 77.0, 71.1), (63.6, 62.2, 72.7, 77.9, 70.8))  # the same of PP-XXL


class Ordering(NamedTuple):
    """A claim that one system is better than another in the mean over the years."""

    where: str
    says: str
    better: str
    worse: str
    protocol: str = "mean of the five years"


ORDERINGS = (
    Ordering(
        "Table of ablations, fastText",
        "DynaMax is better than max-pooling, U = I (60.9 60.3 69.5 76.7 74.6 to 60.5 51.4 68.7 72.7 73.6)",
        "dynamax_jaccard",
        "max_pooled_jaccard",
    ),
    Ordering(
        "Abstract",
        "max-pooled vectors should be compared by Jaccard, not by cosine",
        "max_pooled_jaccard",
        "max_pooled_cosine",
    ),
    Ordering(
        "Table of ablations, fastText",
        "Jaccard of DynaMax memberships is better than their cosine"
        " (60.9 60.3 69.5 76.7 74.6 to 60.2 62.2 68.1 74.2 69.7: not in STS13)",
        "dynamax_jaccard",
        "dynamax_cosine",
    ),
    Ordering(
        "Table of ablations, fastText",
        "Jaccard of averages (DynaAvg-J 52.1 45.8 52.0 60.5 54.9) is worse than average cosine"
        " (58.3 57.9 64.9 67.6 64.3)",
        "cosine",
        "averaged_jaccard",
        "mean of the five years; min/max of the mean vectors, no universe: the row itself has no published code",
    ),
    Ordering(
        "Table of normalized vectors, GloVe",
        "word vectors of unit length are worse for average cosine (47.1 44.9 49.7 51.9 44.0, else 52.1 49.6 54.6 56.1"
        " 51.4)",
        "cosine",
        "unit_cosine",
    ),
    Ordering(
        "Table of normalized vectors, GloVe",
        "word vectors of unit length are worse for DynaMax-Jaccard (53.7 47.8 59.5 66.3 62.9, else 58.2 53.9 65.1 70.9"
        " 71.1)",
        "dynamax_jaccard",
        "unit_dynamax",
    ),
    Ordering(
        "Table of SIF, GloVe",
        "SIF weights make average cosine better (59.2 59.9 62.9 62.8 63.0, without 52.1 49.6 54.6 56.1 51.4)",
        "sif_cosine",
        "cosine",
    ),
    Ordering(
        "Table of SIF, GloVe",
        "also removing the common component is better still (58.5 65.5 69.3 70.2 69.6: not in STS12)",
        "sif_removed_cosine",
        "sif_cosine",
        "mean of the five years; the component of all sentences of a year",
    ),
    Ordering(
        "Table of SIF, GloVe",
        "SIF weights make DynaMax-Jaccard better (61.1 61.5 69.3 73.1 71.7, without 58.2 53.9 65.1 70.9 71.1)",
        "sif_dynamax",
        "dynamax_jaccard",
    ),
)
Compare: TypeAlias = Callable[[TokenEmbeddings, TokenEmbeddings], float]


def claims(context: ReproductionContext) -> Iterator[Claim]:
    """DynaMax, its components and inputs one by one; claims that need the paper's vectors."""
    for vectors in VECTORS:
        results = _results(context, vectors)
        yield from _against_average(results)
        yield from _set_measures(results)
        for each in ORDERINGS:
            claim = results.statement(each.where, each.says, each.protocol).is_greater(
                results.gain(each.better, each.worse)
            )
            yield replace(claim, ours=f"{claim.ours}; by year {results.by_year(each.better, each.worse)}")
    for name, (_, dynamax) in PRINTED.items():
        printed = " ".join(map(str, dynamax))
        says, needs = f"DynaMax-Jaccard reaches {printed} on STS12 to STS16", "vectors, of 300 dimensions"
        yield from undecidable((f"Main table, {name}", says, f"the paper's {name} {needs}"))


def averaged_jaccard(a: TokenEmbeddings, b: TokenEmbeddings) -> float:
    """The overlap of the two mean vectors."""
    return overlap(a.pooled(), b.pooled())


def overlap(u: Floats, v: Floats) -> float:
    """sum_k min(u_k, v_k) / sum_k max(u_k, v_k) of vectors (d,), without clipping; 0 for 0/0.

    >>> overlap(np.array([1, 0], np.float32), np.array([3, 1], np.float32))
    0.25
    """
    whole = float(np.maximum(u, v).sum())
    return float(np.minimum(u, v).sum()) / whole if whole else 0.0


def normalized(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    """The same tokens with vectors of unit length, and their mean."""
    return replace(embeddings, vectors=unit_rows(embeddings.vectors).astype(np.float32), pooled_vector=None)


def without_common_component(
    texts: Mapping[str, TokenEmbeddings], sentences: Sequence[str]
) -> dict[str, TokenEmbeddings]:
    """Remove the common component of `sentences` from pooled vectors.

    Repeated sentences count repeatedly. As in the paper, a pooled vector is the weighted sum divided by n, not by the
    sum of the weights.
    """
    means = {text: each.weighted_vectors().mean(axis=0) for text, each in texts.items()}
    removal = CommonComponentRemoval().fit(np.stack([means[sentence] for sentence in sentences]))
    removed = removal(np.stack(list(means.values())).astype(np.float32))
    return {text: replace(each, pooled_vector=row) for (text, each), row in zip(texts.items(), removed, strict=True)}


@dataclass(frozen=True, slots=True)
class _Results:
    """Pearson's r with one table of vectors: system -> year -> the interval of each subtask."""

    vectors: str
    intervals: Mapping[str, Mapping[str, Sequence[Interval]]]

    def statement(self, where: str, says: str, protocol: str = "mean of the five years") -> Statement:
        return Statement(where, says, f"{VECTORS[self.vectors]}; {protocol}")

    def gain(self, system: str, baseline: str, years: Sequence[str] = YEARS) -> Interval:
        """The gain of a system over the baseline: mean over years of the means over subtasks."""
        shares = [
            1 / len(self.intervals[system][year]) / len(years) for year in years for _ in self.intervals[system][year]
        ]
        means = (
            bca_mean([part for year in years for part in self.intervals[name][year]], shares)
            for name in (system, baseline)
        )
        return difference(*means)

    def by_year(self, system: str, baseline: str) -> str:
        """The gain of each year, with a star if its interval excludes 0."""
        gains = [self.gain(system, baseline, [year]) for year in YEARS]
        return " ".join(f"{100 * gain.estimate:+.1f}{'*' if gain.significant else ''}" for gain in gains)


def _results(context: ReproductionContext, vectors: str) -> _Results:
    tasks = {year: context.task(year, GradedPairs) for year in YEARS}
    intervals: dict[str, dict[str, list[Interval]]] = {}
    for year, task in context.scorer(vectors).track(list(tasks.items()), VECTORS[vectors]):
        for system, scores in _scores(context, vectors, task).items():
            intervals.setdefault(system, {})[year] = _by_subtask(task, scores, context.resampling)
    return _Results(vectors, intervals)


def _scores(context: ReproductionContext, vectors: str, task: GradedPairs) -> dict[str, Doubles]:
    """System -> (n,) scores of a year's pairs; embeddings have uniform or SIF weights."""
    sentences = [*task.left, *task.right]
    plain, weighted = (context.scorer(vectors + option).embed(sentences, "tokens") for option in ("", SIF))
    unit = {text: normalized(each) for text, each in plain.items()}
    cosine, dynamax = (similarity(name).score for name in ("cosine", "dynamax_jaccard"))
    systems: dict[str, tuple[Mapping[str, TokenEmbeddings], Compare]] = {
        **{name: (plain, similarity(name).score) for name in CATALOGUE_MEASURES},
        "averaged_jaccard": (plain, averaged_jaccard),
        "unit_cosine": (unit, cosine),
        "unit_dynamax": (unit, dynamax),
        "sif_cosine": (weighted, cosine),
        "sif_removed_cosine": (without_common_component(weighted, sentences), cosine),
        "sif_dynamax": (weighted, dynamax),
    }
    return {
        system: np.array([compare(texts[a], texts[b]) for a, b in zip(task.left, task.right, strict=True)])
        for system, (texts, compare) in systems.items()
    }


def _by_subtask(task: GradedPairs, scores: Doubles, resampling: Resampling) -> list[Interval]:
    mean = next(metric for metric in correlations(task, scores).metrics if metric.name == "pearson_mean")
    return [bca(sample.statistic, sample.n, resampling) for sample in mean.samples]


def _against_average(results: _Results) -> Iterator[Claim]:
    """Claims of the main table by year, and of its significance by subtask."""
    for i, year in enumerate(YEARS):
        numbers = ", ".join(f"{name} {dynamax[i]} to {average[i]}" for name, (average, dynamax) in PRINTED.items())
        protocol = f"{year.upper()}, mean of its subtasks"
        if results.vectors == POTION:
            average, dynamax = (row[i] for row in ON_PARAPHRASES)
            protocol += f"; on PP-XXL, which was trained on paraphrases too, the paper has {dynamax} to {average}"
        statement = results.statement(
            f"Main table, {year.upper()}", f"DynaMax-Jaccard is better than average cosine ({numbers})", protocol
        )
        yield statement.is_greater(results.gain("dynamax_jaccard", "cosine", [year]))
    statement = results.statement(
        "Table of intervals",
        "DynaMax-Jaccard is better than average cosine on most of the 24 subtasks, and worse on none"
        " (GloVe: better on 22, not significantly different on 2, worse on 0)",
        "an interval a subtask",
    )
    own, other = (results.intervals[name] for name in ("dynamax_jaccard", "cosine"))
    differences = [difference(*pair) for year in YEARS for pair in zip(own[year], other[year], strict=True)]
    better, worse = (sum(each.significant and sign * each.estimate > 0 for each in differences) for sign in (1, -1))
    shown = f"better on {better}, not significantly different on {len(differences) - better - worse}, worse on {worse}"
    yield statement.is_true(shown, "more than half, and none", holds=worse == 0 and 2 * better > len(differences))


def _set_measures(results: _Results) -> Iterator[Claim]:
    for name, printed in (("Otsuka", "58.3 53.4 65.2 70.3 70.5"), ("Dice", "58.5 53.2 64.9 70.1 70.4")):
        statement = results.statement(
            f"Table of set measures, GloVe, {name}",
            f"{name} differs little from Jaccard ({printed} to 58.2 53.9 65.1 70.9 71.1)",
        )
        yield statement.is_near(
            results.gain(f"dynamax_{name.lower()}", "dynamax_jaccard"), expected=0.0, tolerance=SIMILAR
        )
