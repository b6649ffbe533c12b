"""Speed relative to something else on the same machine at the same time: ratios, not times.

The bounds are well below what idle machines measure (docs/performance.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import cycle
from statistics import median

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks.baselines.encoder_process import EncoderProcess
from benchmarks.baselines.encoders import OURS, REFERENCE
from benchmarks.baselines.servers import MODEL, PATH
from benchmarks.baselines.texts import sample_sentences
from benchmarks.speed import cached_similarity, encoding
from benchmarks.speed.measures import random_embeddings
from semblance.models import catalogue
from semblance.models.measures.pairwise import score_all_pairs
from semblance.models.runtime import RUNTIMES
from tests.support.load_generator import Load, post, run_loads
from tests.support.running_service import running_service

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]  # a busy machine takes minutes

# over sentence-transformers in float32, by our fastest precision here; float32 has the same arithmetic, and gains by
# less padding only, which some CPUs hardly notice
MIN_SPEEDUP = {"bfloat16": 2.0, "float32": 0.9}
MIN_SHARE = 0.4  # of the rate of /live
MIN_GAIN = 1.4  # of scoring one text with many at once
MIN_MATRIX_GAIN = 2.0  # of scoring many texts with many
MIN_HTTP_SHARE = 0.5  # of the rate of sentences in one process
TEXTS, CLIENTS = 32, 4


def test_sentences_are_encoded_faster_than_by_sentence_transformers() -> None:
    precision = catalogue.find(RUNTIMES, "openvino").fastest_precision("cpu")
    results = encoding.measure([f"semblance openvino {precision}", REFERENCE], sample_sentences()[:96], rounds=5)
    [ratio] = encoding.ratios(results)
    assert ratio.batched > MIN_SPEEDUP[precision], results
    assert min(results.least_cosine.values()) > 0.999, "vectors are the same"


def test_serving_costs_less_than_half_of_the_encoding_rate() -> None:
    precision = catalogue.find(RUNTIMES, "openvino").fastest_precision("cpu")
    name = f"semblance openvino {precision}"
    texts = sample_sentences()[: 6 * TEXTS]
    bodies = [{"model": MODEL, "input": texts[start : start + TEXTS]} for start in range(0, len(texts), TEXTS)]
    shares = []
    with (
        EncoderProcess(name, OURS[name]()) as encoder,
        running_service(models=MODEL, cache="none", precision=precision) as url,
    ):
        for number in range(6):
            load = Load(cycle([post(PATH, body) for body in bodies]), CLIENTS)
            served = TEXTS * run_loads(url, 1.0, load).loads[0].per_second
            alone = encoder.per_second(texts, len(texts))
            if number > 0:  # without the warm-up round
                shares.append(served / alone)
    assert median(shares) > MIN_HTTP_SHARE, shares


def test_cached_similarities_cost_little_more_than_a_liveness_check() -> None:
    rows = cached_similarity.measure(rounds=3, seconds=1.0)
    [share] = [row.share for row in rows if row.request == "/similarity by cosine"]
    assert share > MIN_SHARE, rows


def test_rcmd_scores_many_texts_faster_than_one_by_one() -> None:
    rng, rcmd = np.random.default_rng(0), catalogue.similarity("rcmd")
    query, candidates = random_embeddings(rng, 20), [random_embeddings(rng, 20) for _ in range(200)]
    gains = []
    with threadpool_limits(1):  # on a busy machine, waiting threads would be measured instead
        for _ in range(15):
            alone = cpu_seconds(lambda: [rcmd.score(query, candidate) for candidate in candidates])
            gains.append(alone / cpu_seconds(lambda: rcmd.score_many(query, candidates)))
    assert median(gains) > MIN_GAIN, gains


def test_rcmd_scores_a_matrix_faster_than_one_by_one() -> None:
    rng, rcmd = np.random.default_rng(0), catalogue.similarity("rcmd")
    left, right = ([random_embeddings(rng, 20) for _ in range(16)] for _ in range(2))
    gains = []
    with threadpool_limits(1):
        for _ in range(15):
            alone = cpu_seconds(lambda: [rcmd.score(a, b) for a in left for b in right])
            gains.append(alone / cpu_seconds(lambda: score_all_pairs(rcmd, left, right)))
    assert median(gains) > MIN_MATRIX_GAIN, gains


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process, which other processes do not affect."""
    start_s = time.process_time()
    work()
    return time.process_time() - start_s
