"""Faults in a running deployment: no acknowledged write is lost, and every answer is right.

Each test takes a few seconds, with LONG_FAULTS=1 a minute. `python -m tests.soak.faults` is the long form, with bounds
on the time of requests. Each deployment belongs to one worker of pytest-xdist.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec

import pytest

from tests.conftest import missing
from tests.soak.fault_injection.catalogue import FAULTS, STATELESS_FAULTS
from tests.soak.fault_injection.fault import Fault
from tests.soak.fault_injection.harness import FaultHarness, FaultOutcome
from tests.support.servers.deployment import FAKETIME, Deployment
from tests.support.servers.postgres_server import find_program
from tests.support.servers.small_disk import SmallDisk

pytestmark = [pytest.mark.waits, pytest.mark.timeout(900)]

LONG = os.environ.get("LONG_FAULTS") == "1"
LOAD_S = 60.0 if LONG else 0.0  # otherwise numbers of requests end the load
PATIENT = {"drain_s": "60"}  # limits that no busy machine reaches
SHORT = PATIENT | {"database_timeout_s": "3", "min_version_wait_s": "1"}  # limits that faults are to reach


@dataclass(frozen=True, slots=True)
class Group:
    """Faults of one deployment, one after the other."""

    faults: Sequence[Fault]
    settings: Mapping[str, str]
    stateless: bool = False


# faults that end soon: with long limits, too, each request is answered, and one deployment has a fault of each kind
END_SOON = ("a replica stopped for a while", "PostgreSQL killed and restarted")


def is_of_the_database(fault: Fault) -> bool:
    """Whether writes may be refused because the database does not answer in time."""
    return "503 store_unavailable" in fault.writers_may_see and fault.name not in END_SOON


GROUPS = {
    "replicas": Group(
        [each for each in FAULTS if not is_of_the_database(each)],
        PATIENT | {"database_timeout_s": "60", "min_version_wait_s": "20"},
    ),
    "database": Group([each for each in FAULTS if is_of_the_database(each)], SHORT),
    "milvus": Group(STATELESS_FAULTS, SHORT, stateless=True),
}
EACH_RUN = frozenset(  # of every kind of trouble one; the others are left to scripts/nightly
    {
        "replicas: a re-embedding, killed half-way and resumed",  # which kills a replica, too
        "replicas: the disk of a replica full",
        "replicas: a copy damaged",
        "replicas: a backup restored",
        "replicas: PostgreSQL killed and restarted",
    }
)


def marks_of(group: str, fault: Fault) -> list[pytest.MarkDecorator]:
    shared = pytest.mark.xdist_group(f"faults of {group}")
    return [shared] if f"{group}: {fault.name}" in EACH_RUN else [shared, pytest.mark.nightly]


CASES = [
    pytest.param(name, fault, marks=marks_of(name, fault), id=f"{name}: {fault.name}")
    for name, group in GROUPS.items()
    for fault in group.faults
]


def require(group: Group) -> None:
    """What the deployment of a group consists of."""
    for command in ("nginx", "redis-server"):
        if shutil.which(command) is None:
            missing(command)
    try:
        find_program("postgres")
    except FileNotFoundError:
        missing("PostgreSQL")
    for module in ("milvus_lite", "pymilvus"):
        if group.stateless and find_spec(module) is None:
            missing(module)
    if not group.stateless and not FAKETIME.exists():
        missing("libfaketime")


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], FaultHarness]]:
    """Returns the deployment of a group of faults; the one before is stopped, and the last one at the end."""
    running: dict[str, FaultHarness] = {}
    with ExitStack() as stack:

        def start(name: str) -> FaultHarness:
            if name not in running:
                stack.close()
                running.clear()
                group, folder = GROUPS[name], tmp_path_factory.mktemp("faults")
                require(group)
                replicas = 3 if LONG else 2
                made = stack.enter_context(Deployment(folder, replicas, stateless=group.stateless, **group.settings))
                running[name] = FaultHarness(made, seed=1)
                running[name].fill()
            return running[name]

        yield start


def exercise(harness: FaultHarness, fault: Fault) -> FaultOutcome:
    if lacks := fault.lacks(harness.deployment):
        missing(lacks)
    outcome = harness.exercise(fault, LOAD_S, fault.lasts_s if LONG else 0.0)
    print(outcome.row(), dict(outcome.log.failed), *outcome.violations, *outcome.delays, sep="\n")
    return outcome


def test_every_fault_of_each_run_exists() -> None:
    assert {each.id for each in CASES} >= EACH_RUN


@pytest.mark.nightly
@pytest.mark.xdist_group("faults of replicas")
def test_a_disk_that_is_not_full_is_noticed(
    deployed: Callable[[str], FaultHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SmallDisk, "full", lambda _: nullcontext())
    [fault] = [each for each in FAULTS if each.name == "the disk of PostgreSQL full"]
    [violation] = exercise(deployed("replicas"), fault).violations
    assert "writes was refused" in violation


@pytest.mark.parametrize(("group", "fault"), CASES)
def test_no_write_is_lost_and_answers_are_right(
    deployed: Callable[[str], FaultHarness], group: str, fault: Fault
) -> None:
    outcome = exercise(deployed(group), fault)
    assert outcome.violations == []
    assert outcome.findings.scores > 500
    assert outcome.findings.largest_difference < 1e-5
