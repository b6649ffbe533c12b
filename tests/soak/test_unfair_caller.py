"""The bound of the test of an unfair caller."""

from __future__ import annotations

from collections import Counter

from tests.soak.unfair_caller import HeavyLoad, Report, SmallRequests


def report(loaded_s: float, statuses: dict[int, int], failed: int = 0) -> Report:
    load = HeavyLoad(Counter(statuses), texts=100, seconds=10.0, longest_batch_s=0.2)
    return Report(SmallRequests([0.01] * 9), SmallRequests([loaded_s] * 9, failed=failed), load)


def test_small_requests_may_wait_for_two_batches() -> None:
    assert report(0.4, {200: 90, 429: 10}).faults() == []
    assert report(0.42, {200: 90}).faults() == ["small requests have p99 0.42 s, the bound is 0.41 s"]


def test_failed_requests_are_faults() -> None:
    assert report(0.1, {200: 1, 500: 1}, failed=2).faults() == [
        "2 small requests failed",
        "the load was answered {200: 1, 500: 1}",
    ]
