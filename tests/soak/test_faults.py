"""Faults in a running deployment: no acknowledged write is lost, and every answer is right.

Each test takes a few seconds, with LONG_FAULTS=1 a minute. `python -m tests.soak.faults` is the long form.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.soak.fault_injection import stores
from tests.soak.fault_injection.catalogue import FAULTS
from tests.soak.fault_injection.fault import Fault
from tests.soak.fault_injection.harness import FaultHarness, FaultOutcome
from tests.support.servers.deployment import FAKETIME, Deployment
from tests.support.servers.postgres_server import find_program
from tests.support.servers.small_disk import SmallDisk

pytestmark = [pytest.mark.timed, pytest.mark.timeout(600)]

LONG = os.environ.get("LONG_FAULTS") == "1"
LOAD_S = 60.0 if LONG else 4.0
SHORT_FAULT_S = 2.0
BY_NAME = {fault.name: fault for fault in FAULTS}


@contextmanager
def filled_deployment(folder: Path, *, thin: bool) -> Iterator[FaultHarness]:
    """A deployment with documents; the test is skipped, or fails, where a program is missing."""
    for command in ("nginx", "redis-server"):
        if shutil.which(command) is None:
            missing(command)
    try:
        find_program("postgres")
    except FileNotFoundError:
        missing("PostgreSQL")
    with Deployment(folder, replicas=3 if LONG else 2, thin=thin) as deployment:
        harness = FaultHarness(deployment, seed=1)
        harness.fill()
        yield harness


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHarness]:
    if not FAKETIME.exists():
        missing("libfaketime")
    with filled_deployment(tmp_path_factory.mktemp("deployment"), thin=False) as filled:
        yield filled


def exercise(harness: FaultHarness, fault: Fault) -> FaultOutcome:
    outcome = harness.exercise(fault, LOAD_S, fault.lasts_s if LONG else min(fault.lasts_s, SHORT_FAULT_S))
    print(outcome.row(), dict(outcome.log.failed), *outcome.violations, sep="\n")
    return outcome


@pytest.mark.parametrize("name", BY_NAME)
def test_no_write_is_lost_and_answers_are_right(harness: FaultHarness, name: str) -> None:
    if lacks := BY_NAME[name].lacks(harness.deployment):
        missing(lacks)
    outcome = exercise(harness, BY_NAME[name])
    assert outcome.violations == []
    assert outcome.findings.scores > 1000
    assert outcome.findings.largest_difference < 1e-5


def test_a_disk_that_is_not_full_is_noticed(harness: FaultHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = BY_NAME["the disk of PostgreSQL full"]
    if lacks := fault.lacks(harness.deployment):
        missing(lacks)
    monkeypatch.setattr(SmallDisk, "full", lambda _: nullcontext())
    monkeypatch.setattr(stores, "NOTICED_S", 1.0)
    outcome = exercise(harness, fault)
    assert outcome.violations == ["the disk of PostgreSQL was filled, and no write was refused within 1 s"]
