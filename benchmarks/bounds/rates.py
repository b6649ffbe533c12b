"""Rates beside something else on the same machine at the same time: ratios, well below those of docs/performance.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import cycle
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.baselines.encoder_process import EncoderProcess
from benchmarks.baselines.encoders import OURS, REFERENCE
from benchmarks.baselines.servers import MODEL, PATH, model_folder
from benchmarks.baselines.texts import sample_sentences
from benchmarks.bounds.bound import at_least
from benchmarks.speed import cached_similarity, encoding
from benchmarks.speed.measures import random_embeddings
from semblance.models import catalogue
from semblance.models.alignment.pairwise import score_all_pairs
from semblance.models.embeddings import Precision
from semblance.models.networks.agreement import MIN_COSINE
from semblance.models.runtimes.openvino import OpenVino
from tests.support.load_generator import Load, post, run_loads
from tests.support.running_service import running_service

# float32 has the arithmetic of sentence-transformers, and gains by less padding only, which some CPUs hardly notice
NEEDED: Mapping[Precision, float] = {"int8": 2.0, "bfloat16": 2.0, "float32": 0.9}
TEXTS, CLIENTS = 32, 4
ROUNDS = 15


@at_least(1, "times")
def encoding_of_sentences() -> float:
    """Encoding beside sentence-transformers in float32: 2 times its rate in int8 or bfloat16, 0.9 times in float32."""
    precision = OpenVino.fastest_precision("cpu")
    results = encoding.measure([f"semblance openvino {precision}", REFERENCE], sample_sentences()[:96], rounds=5)
    assert min(results.least_cosine.values()) > MIN_COSINE[precision], "vectors are the same"
    [ratio] = encoding.ratios(results)
    return ratio.batched / NEEDED[precision]


@at_least(0.5, "times")
def serving() -> float:
    """Sentences are served at half of the rate at which one process encodes them."""
    precision = OpenVino.fastest_precision("cpu")
    name = f"semblance openvino {precision}"
    texts = sample_sentences()[: 6 * TEXTS]
    bodies = [{"model": MODEL, "input": texts[start : start + TEXTS]} for start in range(0, len(texts), TEXTS)]
    shares = []
    with (
        EncoderProcess(name, OURS[name](MODEL, model_folder())) as encoder,
        running_service(models=MODEL, cache="none", precision=precision) as url,
    ):
        for _ in range(6):
            load = Load(cycle([post(PATH, body) for body in bodies]), CLIENTS)
            served = TEXTS * run_loads(url, 1.0, load).loads[0].per_second
            shares.append(served / encoder.per_second(texts, len(texts)))
    return median(shares[1:])  # without the warm-up round


@at_least(0.4, "times")
def cached_similarities() -> float:
    """Cached similarities are answered at 0.4 times the rate of a liveness check."""
    rows = cached_similarity.measure(rounds=3, seconds=1.0)
    [share] = [row.share for row in rows if row.request == "/similarity by cosine"]
    return share


@at_least(1.4, "times")
def scoring_of_many_texts() -> float:
    """rcmd scores one text with 200 faster than with each of them alone."""
    rng, rcmd = np.random.default_rng(0), catalogue.similarity("rcmd")
    query, candidates = random_embeddings(rng, 20), [random_embeddings(rng, 20) for _ in range(200)]
    return _gain(
        lambda: [rcmd.score(query, candidate) for candidate in candidates], lambda: rcmd.score_many(query, candidates)
    )


@at_least(2, "times")
def scoring_of_a_matrix() -> float:
    """rcmd scores 16 texts with 16 faster than each pair alone."""
    rng, rcmd = np.random.default_rng(0), catalogue.similarity("rcmd")
    left, right = ([random_embeddings(rng, 20) for _ in range(16)] for _ in range(2))
    return _gain(lambda: [rcmd.score(a, b) for a in left for b in right], lambda: score_all_pairs(rcmd, left, right))


def _gain(alone: Callable[[], object], together: Callable[[], object]) -> float:
    """Ratio of the times, in the median round."""
    with threadpool_limits(1):  # waiting threads would be measured instead
        return median(_cpu_s(alone) / _cpu_s(together) for _ in range(ROUNDS))


def _cpu_s(work: Callable[[], object]) -> float:
    """CPU time of this process, which other processes do not affect."""
    start_s = time.process_time()
    work()
    return time.process_time() - start_s
