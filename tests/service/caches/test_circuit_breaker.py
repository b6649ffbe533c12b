"""The circuit breaker as a state machine with a fake clock."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from semblance.service.caches.circuit_breaker import CircuitBreaker
from tests.support.fake_clock import FakeClock

FAILURES, REST_S = 3, 10.0

CallResult: TypeAlias = Literal["succeeds", "fails", "leaves"]


def test_it_opens_after_failures_and_reports_it_once() -> None:
    circuit = CircuitBreaker(FAILURES, REST_S, FakeClock())
    assert [circuit.failed(), circuit.failed(), circuit.succeeded()] == [False, False, False]
    assert [circuit.failed(), circuit.failed()] == [False, False]
    assert circuit.admits()
    assert [circuit.failed(), circuit.failed()] == [True, False]
    assert not circuit.admits()


def test_one_probe_follows_the_rest_and_its_success_closes() -> None:
    clock = FakeClock()
    circuit = CircuitBreaker(FAILURES, REST_S, clock)
    for _ in range(FAILURES):
        circuit.failed()
    clock.now = REST_S - 0.01
    assert (circuit.resting, circuit.admits()) == (True, False)
    clock.now = REST_S
    assert (circuit.resting, circuit.admits(), circuit.admits()) == (False, True, False)
    assert circuit.succeeded()
    assert (circuit.admits(), circuit.admits()) == (True, True)


def test_failed_or_hanging_probes_repeat_after_another_rest() -> None:
    clock = FakeClock()
    circuit = CircuitBreaker(FAILURES, REST_S, clock)
    for _ in range(FAILURES):
        circuit.failed()
    for fails in (True, False, True):
        clock.now += REST_S
        assert circuit.admits()
        assert not (fails and circuit.failed())
        clock.now += REST_S - 0.01
        assert not circuit.admits()
        clock.now += 0.01


@given(st.lists(st.tuples(st.floats(0, 8), st.sampled_from(["succeeds", "fails", "leaves"]))))
def test_a_failing_server_is_called_at_most_once_a_rest(steps: list[tuple[float, CallResult]]) -> None:
    """Replay any history of calls, and check each admission against the history."""
    clock = FakeClock()
    circuit = CircuitBreaker(FAILURES, REST_S, clock)
    in_a_row, last_call = 0, -REST_S
    for wait, outcome in steps:
        clock.now += wait
        open_now = in_a_row >= FAILURES
        assert circuit.admits() == (not open_now or clock.now >= last_call + REST_S)
        if open_now and clock.now < last_call + REST_S:
            continue
        last_call = clock.now if open_now or outcome == "fails" else last_call
        if outcome == "succeeds":
            assert circuit.succeeded() == open_now
            in_a_row = 0
        elif outcome == "fails":
            in_a_row += 1
            assert circuit.failed() == (in_a_row == FAILURES)
