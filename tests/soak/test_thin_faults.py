"""Faults of Milvus under replicas that keep no copy: no acknowledged write is lost, and no hit is deleted or stale.

Each test takes a few seconds, with LONG_FAULTS=1 a minute. `python -m tests.soak.faults --thin` is the long form.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.conftest import missing
from tests.soak.fault_injection.harness import FaultHarness
from tests.soak.fault_injection.milvus import FAULTS
from tests.soak.test_faults import exercise, filled_deployment

pytestmark = [pytest.mark.timed, pytest.mark.timeout(600)]

BY_NAME = {fault.name: fault for fault in FAULTS}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHarness]:
    for module in ("milvus_lite", "pymilvus"):
        if find_spec(module) is None:
            missing(module)
    with filled_deployment(tmp_path_factory.mktemp("deployment"), thin=True) as filled:
        yield filled


@pytest.mark.parametrize("name", BY_NAME)
def test_no_hit_is_deleted_or_stale_whatever_milvus_does(harness: FaultHarness, name: str) -> None:
    outcome = exercise(harness, BY_NAME[name])
    assert outcome.violations == []
    assert outcome.findings.scores > 1000
    assert outcome.findings.largest_difference < 1e-5
