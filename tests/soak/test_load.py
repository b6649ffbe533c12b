"""What `tests.soak.load` and `tests.soak.crowd` prove, in short."""

from __future__ import annotations

import pytest

from semblance.service.process.connections import allow_files
from tests.soak import crowd, load
from tests.support.running_service import running_process
from tests.support.vital_signs import VitalSigns

pytestmark = pytest.mark.alone

LARGEST = 2**20
BUSY_P99_MS = 250.0  # for /live beside other work on the machine; the benchmarks hold it to 100
GROWING_MB = 250.0  # seconds are too few for memory to settle


def test_under_load_every_answer_is_the_one_computed_alone_and_nothing_hangs_or_grows() -> None:
    with running_process(cache="none") as service:
        report = load.run(service, load.Load(clients=24, seconds=15, pool=24))
    assert report.faults(BUSY_P99_MS, GROWING_MB) == []
    assert set(report.latency) == {"embeddings", "explain", "search", "similarity", "store"}
    assert 0.15 < report.cancelled / report.sent < 0.25
    assert report.texts_per_pass > 2, "texts of strangers did share passes"
    assert report.live.count > 200


def test_slow_idle_large_and_many_clients_cost_the_others_nothing() -> None:
    assert allow_files(2000) is None
    with running_process(
        sample="1", body_pause_s="3", max_body_bytes=str(LARGEST), header_timeout_s=str(crowd.IDLE_S)
    ) as service:
        report = crowd.run(service, crowd.Crowd(idle=2000, tiny=2000, largest=LARGEST))
    assert report.faults(BUSY_P99_MS) == []
    assert report.still_open == 2000
    answered = {row.trouble: dict(row.statuses) for row in report.rows}
    assert answered["a body of 10 MB"] == {413: 1}
    assert answered["2,000 tiny requests"] == {200: 2000}
    assert all(row.others.count for row in report.rows if row.seconds > 1)


@pytest.mark.parametrize(("off_by", "fault"), [(9e-6, []), (2e-5, ["a score is off by 2.0e-05"])])
def test_a_score_beyond_the_bound_is_a_fault(off_by: float, fault: list[str]) -> None:
    tally = load.Tally(differences={"similarity": [0.0, off_by]})
    signs = VitalSigns(live=[(0.0, 0.001, 200)], memory_mb=[500.0] * 8, load_average=[0.0])
    counted = {"semblance_batch_texts_sum": 1.0, "semblance_batch_texts_count": 1.0}
    assert load.report(load.Load(), 1.0, tally, signs, counted).faults() == fault
