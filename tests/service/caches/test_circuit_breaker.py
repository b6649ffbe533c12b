"""The circuit breaker as a state machine with a fake clock."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from semblance.service.caches.circuit_breaker import CircuitBreaker
from tests.support.fake_clock import FakeClock

FAILURES, REST_S = 3, 10.0

CallResult: TypeAlias = Literal["succeeds", "fails", "leaves"]


STEPS = st.tuples(st.sampled_from([0, 0, 0, 1, 9, 10]), st.sampled_from(["fails", "fails", "succeeds", "leaves"]))


@settings(max_examples=100)
@given(st.lists(STEPS, min_size=10))
def test_a_failing_server_is_called_at_most_once_a_rest(steps: list[tuple[int, CallResult]]) -> None:
    clock = FakeClock()
    circuit = CircuitBreaker(FAILURES, REST_S, clock)
    in_a_row, last_call = 0, -REST_S
    for wait, outcome in steps:
        clock.now += wait
        open_now = in_a_row >= FAILURES
        resting = open_now and clock.now < last_call + REST_S
        assert circuit.resting == resting
        assert circuit.admits() == (not resting)
        if resting:
            assert outcome != "fails" or not circuit.failed(), "a call that began before ends late"
            continue
        last_call = clock.now if open_now or outcome == "fails" else last_call
        if outcome == "succeeds":
            assert circuit.succeeded() == open_now
            in_a_row = 0
        elif outcome == "fails":
            in_a_row += 1
            assert circuit.failed() == (in_a_row == FAILURES), "reported once"
