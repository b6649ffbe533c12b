"""Short forms of `tests.soak.load` and `tests.soak.noisy_neighbors`."""

from __future__ import annotations

import pytest

from semblance.service.process.server import raise_file_limit
from tests.soak import load, noisy_neighbors
from tests.support.running_service import running_process
from tests.support.service_monitor import ServiceMonitor

pytestmark = pytest.mark.alone

LARGEST = 2**20
BUSY_P50_MS, BUSY_P99_MS = 50.0, 1000.0  # for /live beside other work; the soak test requires a p99 of 100
GROWING_MB = 250.0  # a few seconds are too short for memory to settle


def test_answers_under_load_are_right_and_nothing_hangs_or_leaks() -> None:
    with running_process(cache="none") as service:
        report = load.run(service, load.LoadOptions(clients=24, seconds=15, pool=24))
    assert report.faults(BUSY_P99_MS, GROWING_MB) == []
    assert set(report.latency) == {"embeddings", "explain", "hybrid search", "search", "similarity", "store"}
    assert 0.15 < report.stats.cancelled / report.stats.sent < 0.25
    assert report.texts_per_batch > 2, "texts of different clients share batches"
    live = report.monitor.live_percentiles
    assert live.count > 200
    assert live.p50_ms < BUSY_P50_MS, "encoding does not hold up the event loop"


def test_misbehaving_clients_do_not_affect_other_clients() -> None:
    assert raise_file_limit(2000) is None
    with running_process(
        sample="1", body_pause_s="3", max_body_bytes=str(LARGEST), header_timeout_s=str(noisy_neighbors.IDLE_S)
    ) as service:
        report = noisy_neighbors.run(service, noisy_neighbors.NoiseOptions(idle=2000, tiny=2000, largest=LARGEST))
    assert report.faults(BUSY_P99_MS) == []
    assert report.still_open == 2000
    statuses = {row.misbehavior: dict(row.statuses) for row in report.rows}
    assert statuses["a body of 10 MB"] == {413: 1}
    assert statuses["2,000 tiny requests"] == {200: 2000}
    assert all(row.others.count for row in report.rows if row.seconds > 1)


@pytest.mark.parametrize(("off_by", "fault"), [(9e-6, []), (2e-5, ["a score is off by 2.0e-05"])])
def test_a_score_beyond_the_bound_is_a_fault(off_by: float, fault: list[str]) -> None:
    stats = load.ClientStats(differences={"similarity": [0.0, off_by]})
    monitor = ServiceMonitor(live=[(0.0, 0.001, 200)], memory_mb=[500.0] * 8, load_average=[0.0])
    increments = {"semblance_batch_texts_sum": 1.0, "semblance_batch_texts_count": 1.0}
    assert load.Report(load.LoadOptions(), 1.0, stats, monitor, increments).faults() == fault
