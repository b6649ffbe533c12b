"""DynaMax: fuzzy sets of static word vectors (zhelezniak-etal-2019-dynamax).

The protocol is the paper's: Pearson's r of each subtask, their plain mean a year (24 subtasks in STS12 to STS16), BCa
intervals of paired differences. The vectors are others, and so is what splits text into words. In 23 pairs no word of a
sentence is among the few of GloVe: they score 0, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles, Floats, TokenEmbeddings, unit_rows
from semblance.models.evaluation.metrics.graded_pairs import judged
from semblance.models.evaluation.reproductions import Bench, Claim, Said
from semblance.models.evaluation.statistics.bootstrap import Interval, Resampling, bca, bca_mean, difference
from semblance.models.evaluation.tasks import GradedPairs
from semblance.models.projections.common_component_removal import CommonComponentRemoval

PAPER = "zhelezniak-etal-2019-dynamax"
YEARS = ("sts12", "sts13", "sts14", "sts15", "sts16")
GLOVE, POTION = "{data}/vectors/glove6B_50d_5k.npz", "{data}/vectors/potion_base_4m_int8.npz"
SIF = "?weighting=sif&frequencies={data}/lexicon/enwiki_vocab_min200.tsv"
VECTORS = {GLOVE: "GloVe 6B 50d, 5,050 words", POTION: "potion (model2vec, 128d), whose teacher saw paraphrases"}
SAME_VECTORS = (  # systems that are measures of the catalogue
    "cosine",
    "dynamax_jaccard",
    "dynamax_otsuka",
    "dynamax_dice",
    "dynamax_cosine",
    "max_pooled_jaccard",
    "max_pooled_cosine",
)
SIMILAR = 0.015  # of r: more than the differences of printed means over the years, which are at most 0.011
PRINTED = {  # average cosine and DynaMax-Jaccard by year
    "GloVe": ((52.1, 49.6, 54.6, 56.1, 51.4), (58.2, 53.9, 65.1, 70.9, 71.1)),
    "fastText": ((58.3, 57.9, 64.9, 67.6, 64.3), (60.9, 60.3, 69.5, 76.7, 74.6)),
    "word2vec": ((51.6, 58.2, 65.6, 67.5, 64.7), (53.7, 59.5, 68.0, 74.2, 71.3)),
}
ON_PARAPHRASES = ((61.3, 65.6, 72.7, 77.0, 71.1), (63.6, 62.2, 72.7, 77.9, 70.8))  # the same of PP-XXL


class Ordering(NamedTuple):
    """A claim that one system is better than another, in the mean over the years."""

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
        "Table of normalised vectors, GloVe",
        "word vectors of unit length are worse for average cosine (47.1 44.9 49.7 51.9 44.0, else 52.1 49.6 54.6 56.1"
        " 51.4)",
        "cosine",
        "unit_cosine",
    ),
    Ordering(
        "Table of normalised vectors, GloVe",
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
        "removing the common component makes that better still (58.5 65.5 69.3 70.2 69.6: not in STS12)",
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


def claims(bench: Bench) -> Iterator[Claim]:
    """DynaMax against averages, its parts and its inputs one by one; and what needs the paper's vectors."""
    for vectors in VECTORS:
        results = _results(bench, vectors)
        yield from _against_average(results)
        yield from _set_measures(results)
        for each in ORDERINGS:
            claim = results.said(each.where, each.says, each.protocol).is_greater(results.gain(each.better, each.worse))
            yield replace(claim, ours=f"{claim.ours}; by year {results.by_year(each.better, each.worse)}")
    for name, (_, dynamax) in PRINTED.items():
        printed = " ".join(map(str, dynamax))
        said = Said(f"Main table, {name}", f"DynaMax-Jaccard reaches {printed} on STS12 to STS16", "-")
        yield said.is_open(f"needs the paper's {name} vectors, of 300 dimensions")


def averaged_jaccard(a: TokenEmbeddings, b: TokenEmbeddings) -> float:
    """The overlap of the two mean vectors."""
    return overlap(a.pooled(), b.pooled())


def overlap(u: Floats, v: Floats) -> float:
    """sum_k min(u_k, v_k) / sum_k max(u_k, v_k) of two vectors (d,): no clip at 0 and no universe; 0 where it is 0/0.

    >>> overlap(np.array([1, 0], np.float32), np.array([3, 1], np.float32))
    0.25
    """
    whole = float(np.maximum(u, v).sum())
    return float(np.minimum(u, v).sum()) / whole if whole else 0.0


def normalized(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    """The same tokens with vectors of unit length, and the mean of those."""
    return replace(embeddings, vectors=unit_rows(embeddings.vectors).astype(np.float32), given=None)


def without_common_component(
    texts: Mapping[str, TokenEmbeddings], sentences: Sequence[str]
) -> dict[str, TokenEmbeddings]:
    """The same texts, their pooled vectors without what those of `sentences`, repetitions included, have in common.

    As in the paper, a pooled vector is the weighted sum over n, and not over the sum of the weights.
    """
    means = {text: each.weighted().mean(axis=0) for text, each in texts.items()}
    removal = CommonComponentRemoval().fit(np.stack([means[sentence] for sentence in sentences]))
    removed = removal(np.stack(list(means.values())).astype(np.float32))
    return {text: replace(each, given=row) for (text, each), row in zip(texts.items(), removed, strict=True)}


@dataclass(frozen=True, slots=True)
class _Results:
    """Pearson's r with one kind of vectors: system -> year -> the interval of each subtask."""

    vectors: str
    found: Mapping[str, Mapping[str, Sequence[Interval]]]

    def said(self, where: str, says: str, protocol: str = "mean of the five years") -> Said:
        return Said(where, says, f"{VECTORS[self.vectors]}; {protocol}")

    def gain(self, system: str, baseline: str, years: Sequence[str] = YEARS) -> Interval:
        """How much better a system is, by the mean over the years of the mean over the subtasks of each."""
        shares = [1 / len(self.found[system][year]) / len(years) for year in years for _ in self.found[system][year]]
        means = (
            bca_mean([part for year in years for part in self.found[name][year]], shares) for name in (system, baseline)
        )
        return difference(*means)

    def by_year(self, system: str, baseline: str) -> str:
        """The gain of each year, with a star where 0 lies outside its interval."""
        gains = [self.gain(system, baseline, [year]) for year in YEARS]
        return " ".join(f"{100 * each.estimate:+.1f}{'*' if each.significant else ''}" for each in gains)


def _results(bench: Bench, vectors: str) -> _Results:
    tasks = {year: bench.task(year, GradedPairs) for year in YEARS}
    found: dict[str, dict[str, list[Interval]]] = {}
    for year, task in bench.scorer(vectors).track(list(tasks.items()), VECTORS[vectors]):
        for system, scores in _scores(bench, vectors, task).items():
            found.setdefault(system, {})[year] = _by_subtask(task, scores, bench.resampling)
    return _Results(vectors, found)


def _scores(bench: Bench, vectors: str, task: GradedPairs) -> dict[str, Doubles]:
    """System -> (n,) scores of a year's pairs; its texts are embedded once, and once more with SIF weights."""
    sentences = [*task.left, *task.right]
    plain, weighted = (bench.scorer(vectors + option).embed(sentences, "tokens") for option in ("", SIF))
    unit = {text: normalized(each) for text, each in plain.items()}
    cosine, dynamax = (similarity(name).score for name in ("cosine", "dynamax_jaccard"))
    systems: dict[str, tuple[Mapping[str, TokenEmbeddings], Compare]] = {
        **{name: (plain, similarity(name).score) for name in SAME_VECTORS},
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
    mean = next(each for each in judged(task, scores).quantities if each.name == "pearson_mean")
    return [bca(sample.statistic, sample.n, resampling) for sample in mean.samples]


def _against_average(results: _Results) -> Iterator[Claim]:
    """The main table by year, and its significance by subtask."""
    for at, year in enumerate(YEARS):
        numbers = ", ".join(f"{name} {dynamax[at]} to {average[at]}" for name, (average, dynamax) in PRINTED.items())
        protocol = f"{year.upper()}, mean of its subtasks"
        if results.vectors == POTION:
            average, dynamax = (row[at] for row in ON_PARAPHRASES)
            protocol += f"; on PP-XXL, which learnt from paraphrases too, the paper has {dynamax} to {average}"
        said = results.said(
            f"Main table, {year.upper()}", f"DynaMax-Jaccard is better than average cosine ({numbers})", protocol
        )
        yield said.is_greater(results.gain("dynamax_jaccard", "cosine", [year]))
    said = results.said(
        "Table of intervals",
        "DynaMax-Jaccard is better than average cosine on most of the 24 subtasks, and worse on none"
        " (GloVe: better on 22, not significantly different on 2, worse on 0)",
        "an interval a subtask",
    )
    own, other = (results.found[name] for name in ("dynamax_jaccard", "cosine"))
    apart = [difference(*pair) for year in YEARS for pair in zip(own[year], other[year], strict=True)]
    better, worse = (sum(each.significant and sign * each.estimate > 0 for each in apart) for sign in (1, -1))
    shown = f"better on {better}, not significantly different on {len(apart) - better - worse}, worse on {worse}"
    yield said.is_true(shown, "more than half, and none", holds=worse == 0 and 2 * better > len(apart))


def _set_measures(results: _Results) -> Iterator[Claim]:
    for name, printed in (("Otsuka", "58.3 53.4 65.2 70.3 70.5"), ("Dice", "58.5 53.2 64.9 70.1 70.4")):
        said = results.said(
            f"Table of set measures, GloVe, {name}",
            f"{name} differs little from Jaccard ({printed} to 58.2 53.9 65.1 70.9 71.1)",
        )
        yield said.is_near(results.gain(f"dynamax_{name.lower()}", "dynamax_jaccard"), wanted=0.0, tolerance=SIMILAR)
