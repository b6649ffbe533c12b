"""Whatever fails under a running deployment, no acknowledged write is lost, and every answer is true.

A few seconds of load each; with LONG_FAULTS=1 a minute. `python -m tests.soak.faults` is the long form.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.conftest import missing
from tests.soak.injected.catalogue import FAULTS
from tests.soak.injected.fault import Fault
from tests.soak.injected.stage import Outcome, Stage
from tests.support.servers.deployment import FAKETIME, Deployment
from tests.support.servers.postgres_server import program

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]

LONG = os.environ.get("LONG_FAULTS") == "1"
LOAD_S = 60.0 if LONG else 4.0
SHORT_LASTS_S = 2.0
BESIDE_S = 2.0  # what a refusal may take beside the wait for the database
BY_NAME = {fault.name: fault for fault in FAULTS}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    for command in ("nginx", "redis-server"):
        if shutil.which(command) is None:
            missing(command)
    try:
        program("postgres")
    except FileNotFoundError:
        missing("PostgreSQL")
    if not FAKETIME.exists():
        missing("libfaketime")
    with Deployment(tmp_path_factory.mktemp("deployment"), replicas=3 if LONG else 2) as deployment:
        stage = Stage(deployment, seed=1)
        stage.fill()
        yield stage


def exercise(stage: Stage, fault: Fault) -> Outcome:
    outcome = stage.exercise(fault, LOAD_S, fault.lasts_s if LONG else min(fault.lasts_s, SHORT_LASTS_S))
    print(outcome.row(), dict(outcome.tally.failed), *outcome.broken, sep="\n")
    return outcome


@pytest.mark.parametrize("name", BY_NAME)
def test_nothing_acknowledged_is_lost_and_every_answer_is_true(stage: Stage, name: str) -> None:
    outcome = exercise(stage, BY_NAME[name])
    assert outcome.broken == []
    assert outcome.findings.scores > 1000
    assert outcome.findings.largest_difference < 1e-5
