"""The service is as fast as it was, beside something else on the same machine at the same time: ratios, not times.

The bounds lie well below what quiet machines measure (docs/performance.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import cycle
from statistics import median

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks.peers.encoder_process import EncoderProcess
from benchmarks.peers.libraries import OURS, REFERENCE
from benchmarks.peers.sentences import sample_sentences
from benchmarks.peers.servers import MODEL, PATH
from benchmarks.speed import cached, encoding
from benchmarks.speed.measures import drawn
from semblance.models import catalogue
from semblance.models.measures.pairwise import all_with_all
from semblance.models.runtime import RUNTIMES
from tests.support.clients import Load, post, put_under
from tests.support.running_service import running_service

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]  # a busy machine takes minutes

LEAST_TIMES = {"bfloat16": 2.0, "float32": 1.3}  # sentence-transformers in float32, by what this CPU is fastest in
LEAST_SHARE = 0.4  # of the requests a second to /live
LEAST_GAIN = 1.4  # of scoring many texts at once
LEAST_MATRIX_GAIN = 2.0  # of scoring many with many
LEAST_OVER_HTTP = 0.5  # of the sentences a second in one process
TEXTS, CLIENTS = 32, 4  # of a request; that ask


def test_sentences_are_encoded_faster_than_by_sentence_transformers() -> None:
    precision = catalogue.find(RUNTIMES, "openvino").fastest("cpu")
    made = encoding.measured([f"semblance openvino {precision}", REFERENCE], sample_sentences()[:96], rounds=5)
    [ratio] = encoding.ratios(made)
    assert ratio.batched > LEAST_TIMES[precision], made
    assert min(made.least_cosine.values()) > 0.999, "and they are the same vectors"


def test_a_service_encodes_nearly_as_many_sentences_as_its_encoder_does_in_one_process() -> None:
    name = f"semblance openvino {catalogue.find(RUNTIMES, 'openvino').fastest('cpu')}"
    texts = sample_sentences()[: 6 * TEXTS]
    bodies = [{"model": MODEL, "input": texts[start : start + TEXTS]} for start in range(0, len(texts), TEXTS)]
    shares = []
    with EncoderProcess(name, OURS[name]()) as encoder, running_service(models=MODEL, cache="none") as url:
        for number in range(6):
            load = Load(cycle([post(PATH, body) for body in bodies]), CLIENTS)
            served = TEXTS * put_under(url, 1.0, load).loads[0].per_second
            alone = encoder.per_second(texts, len(texts))
            if number > 0:  # in the first round both warm up
                shares.append(served / alone)
    assert median(shares) > LEAST_OVER_HTTP, shares


def test_similarities_of_cached_texts_cost_a_few_times_what_any_request_costs() -> None:
    rows = cached.measured(rounds=3, seconds=1.0)
    [share] = [row.share for row in rows if row.request == "/similarity by cosine"]
    assert share > LEAST_SHARE, rows


def test_many_texts_are_scored_by_rcmd_faster_than_one_after_the_other() -> None:
    rng, rcmd = np.random.default_rng(0), catalogue.similarity("rcmd")
    query, candidates = drawn(rng, 20), [drawn(rng, 20) for _ in range(200)]
    gains = []
    with threadpool_limits(1):  # threads that wait for each other on a busy machine would be measured instead
        for _ in range(15):
            alone = cpu_seconds(lambda: [rcmd.score(query, candidate) for candidate in candidates])
            gains.append(alone / cpu_seconds(lambda: rcmd.score_many(query, candidates)))
    assert median(gains) > LEAST_GAIN, gains


def test_texts_are_scored_with_texts_by_rcmd_faster_than_one_after_the_other() -> None:
    rng, rcmd = np.random.default_rng(0), catalogue.similarity("rcmd")
    left, right = ([drawn(rng, 20) for _ in range(16)] for _ in range(2))
    gains = []
    with threadpool_limits(1):
        for _ in range(15):
            alone = cpu_seconds(lambda: [rcmd.score(a, b) for a in left for b in right])
            gains.append(alone / cpu_seconds(lambda: all_with_all(rcmd, left, right)))
    assert median(gains) > LEAST_MATRIX_GAIN, gains


def cpu_seconds(work: Callable[[], object]) -> float:
    """Of this process, which others on the machine do not add to."""
    began = time.process_time()
    work()
    return time.process_time() - began
