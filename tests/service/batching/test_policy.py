"""Which texts run together, and in which order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semblance.service.batching.policy import Limits, Waiting, due, next_batch

GROUPS = st.sampled_from("ab")
QUEUES = st.lists(st.builds(Waiting, st.integers(1, 300), GROUPS, st.floats(0, 100)), max_size=60).map(
    lambda queue: sorted(queue, key=lambda text: text.due)
)


def roomy(batch_tokens: int, window: int = 1024) -> Limits:
    """Limits that only the size of a pass can reach."""
    return Limits(batch_tokens, request_tokens=10**6, queued_tokens=10**6, window=window)


@given(waiting=QUEUES, budget=st.integers(1, 2000), window=st.integers(1, 80))
def test_a_batch_fits_its_budget_has_one_group_and_holds_the_first_due(
    waiting: list[Waiting], budget: int, window: int
) -> None:
    batch = next_batch(waiting, roomy(budget, window))
    if not waiting:
        assert batch == []
        return
    assert batch[0] == 0
    assert len(set(batch)) == len(batch)
    assert {waiting[i].group for i in batch} == {waiting[0].group}
    assert sum(waiting[i].tokens for i in batch) <= budget or batch == [0]


@given(waiting=QUEUES, budget=st.integers(1, 2000))
def test_nobody_left_out_of_a_batch_is_nearer_in_length_than_one_in_it(waiting: list[Waiting], budget: int) -> None:
    batch = next_batch(waiting, roomy(budget))
    left_out = [i for i, text in enumerate(waiting) if i not in batch and text.group == waiting[0].group]
    if len(batch) > 1 and left_out:
        furthest = max(abs(waiting[i].tokens - waiting[0].tokens) for i in batch)
        assert min(abs(waiting[i].tokens - waiting[0].tokens) for i in left_out) >= furthest


@given(waiting=QUEUES, budget=st.integers(1, 20_000))
def test_nobody_in_a_batch_is_padded_to_much_more_than_twice_its_length(waiting: list[Waiting], budget: int) -> None:
    lengths = [waiting[i].tokens for i in next_batch(waiting, roomy(budget))]
    assert max(lengths, default=0) <= 2 * min(lengths, default=0) + 16


@given(waiting=QUEUES, budget=st.integers(1, 2000))
def test_taking_batch_after_batch_serves_everyone_once(waiting: list[Waiting], budget: int) -> None:
    queue = list(enumerate(waiting))
    served: list[int] = []
    while queue:
        chosen = set(next_batch([text for _, text in queue], roomy(budget)))
        served += [number for i, (number, _) in enumerate(queue) if i in chosen]
        queue = [each for i, each in enumerate(queue) if i not in chosen]
    assert sorted(served) == list(range(len(waiting)))


@given(st.integers(1, 5000), st.integers(1, 5000), st.floats(0, 1000))
def test_of_two_that_came_together_the_smaller_runs_first_and_background_work_last(
    one: int, other: int, now: float
) -> None:
    small, large = sorted((one, other))
    assert due(now, small, bulk=False) <= due(now, large, bulk=False) < due(now, 1, bulk=True)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.booleans(), st.floats(0.1, 1000))
def test_nobody_is_passed_by_who_comes_later_than_a_millisecond_a_token(
    mine: int, theirs: int, bulk: bool, later: float
) -> None:
    latest = 0.001 * mine + (15 if bulk else 0) + later
    assert due(0.0, mine, bulk=bulk) < due(latest, theirs, bulk=False)
