"""Which texts run together, and in which order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semblance.service.batching.policy import Candidate, Limits, due_time, next_batch

GROUPS = st.sampled_from("ab")
QUEUES = st.lists(st.builds(Candidate, st.integers(1, 300), GROUPS, st.floats(0, 100)), max_size=60).map(
    lambda queue: sorted(queue, key=lambda text: text.due)
)


def roomy(batch_tokens: int, window: int = 1024) -> Limits:
    """Limits that only the size of a batch can reach."""
    return Limits(batch_tokens, request_tokens=10**6, queued_tokens=10**6, window=window)


@given(waiting=QUEUES, budget=st.integers(1, 2000), window=st.integers(1, 80))
def test_a_batch_keeps_group_and_budget_and_contains_the_first(
    waiting: list[Candidate], budget: int, window: int
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
def test_texts_left_out_are_no_nearer_in_length(waiting: list[Candidate], budget: int) -> None:
    batch = next_batch(waiting, roomy(budget))
    left_out = [i for i, text in enumerate(waiting) if i not in batch and text.group == waiting[0].group]
    if len(batch) > 1 and left_out:
        furthest = max(abs(waiting[i].tokens - waiting[0].tokens) for i in batch)
        assert min(abs(waiting[i].tokens - waiting[0].tokens) for i in left_out) >= furthest


@given(waiting=QUEUES, budget=st.integers(1, 20_000))
def test_padding_is_limited_to_about_twice_the_length(waiting: list[Candidate], budget: int) -> None:
    lengths = [waiting[i].tokens for i in next_batch(waiting, roomy(budget))]
    assert max(lengths, default=0) <= 2 * min(lengths, default=0) + 16


@given(waiting=QUEUES, budget=st.integers(1, 2000))
def test_repeated_batches_run_every_text_once(waiting: list[Candidate], budget: int) -> None:
    queue = list(enumerate(waiting))
    served: list[int] = []
    while queue:
        chosen = set(next_batch([text for _, text in queue], roomy(budget)))
        served += [number for i, (number, _) in enumerate(queue) if i in chosen]
        queue = [each for i, each in enumerate(queue) if i not in chosen]
    assert sorted(served) == list(range(len(waiting)))


@given(st.integers(1, 5000), st.integers(1, 5000), st.floats(0, 1000))
def test_small_requests_run_first_and_background_work_last(one: int, other: int, now: float) -> None:
    small, large = sorted((one, other))
    assert due_time(now, small, bulk=False) <= due_time(now, large, bulk=False) < due_time(now, 1, bulk=True)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.booleans(), st.floats(0.1, 1000))
def test_overtaking_ends_after_a_millisecond_a_token(mine: int, theirs: int, bulk: bool, later: float) -> None:
    latest = 0.001 * mine + (15 if bulk else 0) + later
    assert due_time(0.0, mine, bulk=bulk) < due_time(latest, theirs, bulk=False)
