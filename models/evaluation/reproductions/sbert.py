"""Sentence-BERT: Siamese encoders, pooling and distances (reimers-gurevych-2019-sbert)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from statistics import fmean

from semblance.models.evaluation.evaluation import SEVEN, interval_of
from semblance.models.evaluation.metrics import judge
from semblance.models.evaluation.reproductions import Bench, Claim, Said
from semblance.models.evaluation.statistics.bootstrap import bca_mean, difference
from semblance.models.evaluation.tasks import GradedPairs
from semblance.models.protocols import Encoder

PAPER = "reimers-gurevych-2019-sbert"
SENTENCES, BATCH, TIMES = 1024, 32, 3
BEST, INFERSENT, USE = 76.68, 65.01, 71.22  # averages, as printed
ROW = (70.97, 76.53, 73.19, 79.09, 74.30, 77.03, 72.91)  # SBERT-NLI-base on the seven sets, as printed


def claims(bench: Bench) -> Iterator[Claim]:
    """Distances in place of the cosine, poolings, smart batching, a printed mean; and what needs trained weights."""
    yield from _distances(bench)
    yield from _poolings(bench)
    yield _smart_batching(bench)
    said = Said("Table 1, SBERT-NLI-base, Avg.", "the mean over the seven sets is 74.89", "the mean of the printed row")
    yield said.is_true(f"{fmean(ROW):.2f}", "the same two digits", holds=round(fmean(ROW), 2) == 74.89)
    yield _headline_gains()
    for where, says, needs in (
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
    ):
        yield Said(where, says, "-").is_open(f"needs {needs}")


def _headline_gains() -> Claim:
    said = Said(
        "Abstract",
        "on STS, SBERT gains 11.7 points on average over InferSent and 5.5 over USE",
        "the printed averages, with that of the best row of SBERT, SRoBERTa-NLI-large",
    )
    gains = [BEST - other for other in (INFERSENT, USE)]
    shown = " and ".join(f"{gain:.2f}" for gain in gains)
    return said.is_true(shown, "the same digit", holds=[round(gain, 1) for gain in gains] == [11.7, 5.5])


def _distances(bench: Bench) -> Iterator[Claim]:
    measures = ("negative_manhattan", "negative_euclidean")
    judged = [judge(bench.task(name, GradedPairs), bench.scorer("minilm"), ["cosine", *measures]) for name in SEVEN]
    for measure in measures:
        said = Said(
            "Evaluation on STS",
            f"{measure.replace('_', ' ')} distance in place of the cosine gives roughly the same Spearman",
            "MiniLM, mean difference over the seven STS sets; its vectors have length 1, so the Euclidean distance "
            "must order as the cosine does",
        )
        own, cosine = (
            bca_mean([interval_of(each[name].quantities[0], bench.resampling) for each in judged])
            for name in (measure, "cosine")
        )
        yield said.is_near(difference(own, cosine), wanted=0.0, tolerance=0.01)


def _poolings(bench: Bench) -> Iterator[Claim]:
    task = bench.task("stsb_dev", GradedPairs)
    found = {
        pooling: interval_of(
            judge(task, bench.scorer(f"minilm?pooling={pooling}"), ["cosine"])["cosine"].quantities[0], bench.resampling
        )
        for pooling in ("mean", "max", "cls")
    }
    for pooling, printed in (("max", "79.07"), ("cls", "79.80")):
        said = Said(
            f"Table 6, MEAN against {pooling.upper()}, trained on NLI",
            f"mean pooling (80.78) is better than {pooling} pooling ({printed}) on STS-B dev",
            "MiniLM, which was trained with mean pooling: its other poolings are at a disadvantage",
        )
        yield said.is_greater(difference(found["mean"], found[pooling]))


def _smart_batching(bench: Bench) -> Claim:
    said = Said(
        "Table 7, CPU",
        "batches of sentences of like length raise the throughput (44 to 83 sentences/s)",
        f"MiniLM, {SENTENCES} sentences of STS-B in batches of {BATCH}; {TIMES} runs, by turns",
    )
    texts = bench.task("stsb", GradedPairs).left[:SENTENCES]
    encoder = bench.encoder("minilm")
    by_length = sorted(texts, key=len, reverse=True)
    return said.is_at_most([_seconds(encoder, by_length) / _seconds(encoder, texts) for _ in range(TIMES)], 1.0)


def _seconds(encoder: Encoder, texts: Sequence[str]) -> float:
    began = time.perf_counter()
    for start in range(0, len(texts), BATCH):
        encoder.encode(encoder.tokenize(texts[start : start + BATCH], "query", "END"), "pooled")
    return time.perf_counter() - began
