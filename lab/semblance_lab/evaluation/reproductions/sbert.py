"""Sentence-BERT: Siamese encoders, pooling and distances (reimers-gurevych-2019-sbert)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from statistics import fmean

from semblance.models.judgments.bootstrap import bca_mean, difference
from semblance.models.judgments.pairs import GradedPairs
from semblance.models.protocols import Encoder
from semblance_lab.evaluation.evaluation import STS_SETS, interval_of
from semblance_lab.evaluation.metrics import compute_metrics
from semblance_lab.evaluation.reproductions import Claim, ReproductionContext, Statement, undecidable

PAPER = "reimers-gurevych-2019-sbert"
SENTENCES, BATCH, RUNS = 1024, 32, 3
BEST, INFERSENT, USE = 76.68, 65.01, 71.22  # printed averages
ROW = (70.97, 76.53, 73.19, 79.09, 74.30, 77.03, 72.91)  # SBERT-NLI-base on the seven sets, printed


def claims(context: ReproductionContext) -> Iterator[Claim]:
    """Distances, poolings, smart batching, printed means; claims that need trained weights."""
    yield from _distances(context)
    yield from _poolings(context)
    yield _smart_batching(context)
    statement = Statement(
        "Table 1, SBERT-NLI-base, Avg.", "the mean over the seven sets is 74.89", "the mean of the printed row"
    )
    yield statement.is_true(f"{fmean(ROW):.2f}", "the same two digits", holds=round(fmean(ROW), 2) == 74.89)
    yield _headline_gains()
    yield from undecidable(
        (
            "Table 1, Avg.",
            "averaged GloVe vectors (61.32) are better than averaged BERT vectors (54.81)",
            "BERT and the paper's GloVe vectors",
        ),
        (
            "Table 3, AFS",
            "SBERT-base reaches a Spearman of 74.13 in 10-fold cross-validation",
            "the AFS corpus and training",
        ),
        ("Table 4, Wikipedia sections", "SBERT-base is right on 0.8042 of the triplets", "those triplets and training"),
    )


def _headline_gains() -> Claim:
    statement = Statement(
        "Abstract",
        "on STS, SBERT gains 11.7 points on average over InferSent and 5.5 over USE",
        "the printed averages, with that of the best row of SBERT, SRoBERTa-NLI-large",
    )
    gains = [BEST - other for other in (INFERSENT, USE)]
    shown = " and ".join(f"{gain:.2f}" for gain in gains)
    return statement.is_true(shown, "the same digit", holds=[round(gain, 1) for gain in gains] == [11.7, 5.5])


def _distances(context: ReproductionContext) -> Iterator[Claim]:
    measures = ("negative_manhattan", "negative_euclidean")
    metrics = [
        compute_metrics(context.task(name, GradedPairs), context.scorer("minilm"), ["cosine", *measures])
        for name in STS_SETS
    ]
    for measure in measures:
        statement = Statement(
            "Evaluation on STS",
            f"{measure.replace('_', ' ')} distance instead of the cosine gives roughly the same Spearman",
            "MiniLM, mean difference over the seven STS sets; its vectors have length 1, so the Euclidean distance "
            "must rank as the cosine does",
        )
        own, cosine = (
            bca_mean([interval_of(metric[name].metrics[0], context.resampling) for metric in metrics])
            for name in (measure, "cosine")
        )
        yield statement.is_near(difference(own, cosine), expected=0.0, tolerance=0.01)


def _poolings(context: ReproductionContext) -> Iterator[Claim]:
    task = context.task("stsb_dev", GradedPairs)
    intervals = {
        pooling: interval_of(
            compute_metrics(task, context.scorer(f"minilm?pooling={pooling}"), ["cosine"])["cosine"].metrics[0],
            context.resampling,
        )
        for pooling in ("mean", "max", "cls")
    }
    for pooling, printed in (("max", "79.07"), ("cls", "79.80")):
        statement = Statement(
            f"Table 6, MEAN against {pooling.upper()}, trained on NLI",
            f"mean pooling (80.78) is better than {pooling} pooling ({printed}) on STS-B dev",
            "MiniLM, which was trained with mean pooling: its other poolings are at a disadvantage",
        )
        yield statement.is_greater(difference(intervals["mean"], intervals[pooling]))


def _smart_batching(context: ReproductionContext) -> Claim:
    statement = Statement(
        "Table 7, CPU",
        "batches of sentences of similar length raise the throughput (44 to 83 sentences/s)",
        f"MiniLM, {SENTENCES} sentences of STS-B in batches of {BATCH}; {RUNS} runs, alternating",
    )
    texts = context.task("stsb", GradedPairs).left[:SENTENCES]
    encoder = context.encoder("minilm")
    by_length = sorted(texts, key=len, reverse=True)
    return statement.is_at_most([_seconds(encoder, by_length) / _seconds(encoder, texts) for _ in range(RUNS)], 1.0)


def _seconds(encoder: Encoder, texts: Sequence[str]) -> float:
    start = time.perf_counter()
    for first in range(0, len(texts), BATCH):
        encoder.encode(encoder.tokenize(texts[first : first + BATCH], "query", "END"), "pooled")
    return time.perf_counter() - start
