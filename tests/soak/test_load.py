"""Short forms of `tests.soak.load`, `noisy_neighbors` and `unfair_caller`; these hold the bounds on time and memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from semblance.models.processor.usable_cores import usable_cores
from semblance.service.process.server import raise_file_limit
from tests.soak import costly_requests, load, noisy_neighbors, unfair_caller
from tests.soak.normal_client import Call
from tests.soak.unfair_caller import HeavyLoad
from tests.support.project import PROJECT
from tests.support.running_service import running_process
from tests.support.service_monitor import ServiceMonitor
from tests.support.waiting import until

LARGEST = 2**18
IDLE = 2000
FILES_OF_THE_SERVICE = 16  # that it may open under load and keep


@pytest.mark.slow
def test_answers_under_load_are_right_and_nothing_is_left_open() -> None:
    with running_process(cache="none", threads=str(usable_cores())) as service:
        files = Path(f"/proc/{service.process.pid}/fd")
        before = len(list(files.iterdir()))
        report = load.run(service, load.LoadOptions(clients=24, requests=5, pool=10))
        until(lambda: len(list(files.iterdir())) < before + FILES_OF_THE_SERVICE, "closed connections")
    assert report.faults() == []
    reads = {"embeddings", "explain", "hybrid search", "picture", "search", "similarity"}
    assert report.stats.seconds.keys() == reads | {"store"}
    assert report.stats.cancelled > FILES_OF_THE_SERVICE


@pytest.mark.nightly
@pytest.mark.waits
def test_misbehaving_clients_do_not_affect_other_clients() -> None:
    assert raise_file_limit(IDLE) is None
    with running_process(PROJECT, None, sample="1", max_body_bytes=str(LARGEST), **noisy_neighbors.TIMEOUTS) as service:
        report = noisy_neighbors.run(service, noisy_neighbors.NoiseOptions(IDLE, 400, 10, LARGEST))
    assert report.faults() == []
    assert (report.still_open, len(report.rows)) == (IDLE, 9)
    statuses = {row.misbehavior.name: dict(row.statuses) for row in report.rows}
    assert statuses["400 tiny requests"] == {200: 400}


@pytest.mark.parametrize(("off_by", "fault"), [(9e-6, []), (2e-5, ["a score is off by 2.0e-05"])])
def test_a_score_beyond_the_bound_is_a_fault(off_by: float, fault: list[str]) -> None:
    stats = load.ClientStats(differences={"similarity": [0.0, off_by]})
    monitor = ServiceMonitor(live=[(0.0, 0.001, 200)], memory_mb=[500.0] * 8, load_average=[0.0])
    increments = {"semblance_batch_texts_sum": 1.0, "semblance_batch_texts_count": 1.0}
    assert load.Report(load.LoadOptions(), 1.0, stats, monitor, increments).faults() == fault


@pytest.mark.parametrize(
    ("loaded_s", "statuses", "failed", "faults"),
    [
        (0.40, {200: 90, 429: 10}, 0, []),
        (0.42, {200: 90}, 0, ["small requests have p99 0.42 s, the bound is 0.41 s"]),
        (0.1, {200: 1, 500: 1}, 2, ["2 small requests failed", "the load was answered {200: 1, 500: 1}"]),
    ],
)
def test_small_requests_may_wait_for_two_batches_and_not_fail(
    loaded_s: float, statuses: dict[int, int], failed: int, faults: list[str]
) -> None:
    heavy = HeavyLoad(Counter(statuses), texts=100, seconds=10.0, longest_batch_s=0.2)
    loaded = [Call(0.0, loaded_s, 200)] * 9 + [Call(0.0, loaded_s, 503)] * failed
    assert unfair_caller.Report([Call(0.0, 0.01, 200)] * 9, loaded, heavy).faults() == faults


@pytest.mark.parametrize(
    ("searched", "statuses", "faults"),
    [
        ([(1.9, 200)], {0: 5, 200: 3, 429: 1}, []),
        ([(2.1, 200)], {200: 1}, ["map: searches have p99 2.10 s"]),
        ([(0.1, 200), (0.1, 503)], {200: 1, 500: 1}, ["map: 1 searches failed", "map: answered [500]"]),
    ],
)
def test_searches_beside_costly_requests_take_two_seconds_at_most(
    searched: list[tuple[float, int]], statuses: dict[int, int], faults: list[str]
) -> None:
    assert costly_requests.Row("map", statuses, searched).faults() == faults
