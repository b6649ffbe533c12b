"""Which texts run together, and in which order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semblance.service.batching.policy import (
    PADDING_SLACK,
    Candidate,
    Limits,
    debts_after,
    due_time,
    next_batch,
    room_of,
    turn_order,
)

CALLERS = st.sampled_from("xyz")
DEBTS = st.dictionaries(CALLERS, st.floats(0, 2000))
CANDIDATES = st.builds(
    Candidate, CALLERS, st.integers(1, 300), st.sampled_from("ab"), st.floats(0, 100), st.just("interactive")
)
WINDOWS = st.lists(CANDIDATES, max_size=60)


def roomy(batch_tokens: int) -> Limits:
    """Limits that only the size of a batch can reach."""
    return Limits(batch_tokens, request_tokens=10**6, queued_tokens=10**6)


@given(window=WINDOWS, budget=st.integers(1, 2000), debts=DEBTS)
def test_a_batch_keeps_group_and_budget_and_contains_the_first(
    window: list[Candidate], budget: int, debts: dict[str, float]
) -> None:
    batch = next_batch(window, roomy(budget), debts)
    if not window:
        assert batch == []
        return
    assert batch[0] == 0
    assert len(set(batch)) == len(batch)
    assert {window[i].group for i in batch} == {window[0].group}
    assert sum(window[i].tokens for i in batch) <= budget or batch == [0]


@given(window=WINDOWS, budget=st.integers(1, 2000))
def test_texts_left_out_are_no_nearer_in_length(window: list[Candidate], budget: int) -> None:
    batch = next_batch(window, roomy(budget), {})
    lengths = [window[i].tokens for i in batch]
    furthest = max((abs(length - window[0].tokens) for length in lengths), default=0)
    for i, text in enumerate(window):
        if i not in batch and text.group == window[0].group and abs(text.tokens - window[0].tokens) < furthest:
            assert max(*lengths, text.tokens) > 2 * min(*lengths, text.tokens) + PADDING_SLACK


@given(window=WINDOWS, budget=st.integers(1, 20_000), debts=DEBTS)
def test_padding_is_limited_to_about_twice_the_length(
    window: list[Candidate], budget: int, debts: dict[str, float]
) -> None:
    lengths = [window[i].tokens for i in next_batch(window, roomy(budget), debts)]
    assert max(lengths, default=0) <= 2 * min(lengths, default=0) + 16


def test_callers_far_ahead_only_take_what_is_left() -> None:
    window = [Candidate("x", 100, "a", 1.0), Candidate("y", 100, "a", 2.0), Candidate("x", 120, "a", 3.0)]
    budget = roomy(220)
    assert next_batch(window, budget, {"x": 10.0, "y": 200.0}) == [0, 1], "nearest in length"
    assert next_batch(window, budget, {"x": 10.0, "y": 230.0}) == [0, 2], "a batch ahead"
    assert next_batch(window[:2], budget, {"x": 10.0, "y": 230.0}) == [0, 1], "batches stay full"


@given(heads=st.lists(CANDIDATES, min_size=1, max_size=3, unique_by=lambda head: head.caller), debts=DEBTS)
def test_the_caller_served_least_is_next(heads: list[Candidate], debts: dict[str, float]) -> None:
    order = turn_order(heads, debts, now=0.0)
    assert sorted(order) == sorted(head.caller for head in heads)
    assert [debts.get(caller, 0.0) for caller in order] == sorted(debts.get(head.caller, 0.0) for head in heads)


def test_background_work_waits_until_it_is_due() -> None:
    heads = [Candidate("x", 10, "a", 20.0, "bulk"), Candidate("y", 10, "a", 30.0)]
    assert turn_order(heads, {"y": 5.0}, now=19.9) == ["y", "x"]
    assert turn_order(heads, {"y": 5.0}, now=20.0) == ["x", "y"]
    assert turn_order(heads, {"x": 6.0, "y": 5.0}, now=20.0) == ["y", "x"], "then it takes turns"


@given(batch=st.lists(CANDIDATES, min_size=1, max_size=20), debts=DEBTS, budget=st.integers(1, 2000))
def test_debts_are_positive_and_at_most_two_batches(
    batch: list[Candidate], debts: dict[str, float], budget: int
) -> None:
    total = sum(text.tokens for text in batch)
    after = debts_after(debts, batch, budget)
    assert all(0 < debt <= 2 * max(budget, total) for debt in after.values())
    own = sum(text.tokens for text in batch if text.caller == batch[0].caller)
    assert after[batch[0].caller] == own, "debts are counted from the caller who was next"
    for caller in debts.keys() - {text.caller for text in batch}:
        assert after.get(caller, 0.0) < debts[caller] or not debts[caller], "waiting brings the turn nearer"


@given(waiting=st.dictionaries(CALLERS, st.integers(1, 2000), max_size=3), limit=st.integers(1, 1000))
def test_a_caller_may_always_have_its_share_of_the_queue(waiting: dict[str, int], limit: int) -> None:
    room = room_of("x", waiting, limit)
    free = max(limit - sum(waiting.values()), 0)
    callers = len(waiting.keys() | {"x"})
    assert room >= free
    assert waiting.get("x", 0) + room >= limit // callers
    assert room == free or waiting.get("x", 0) + room == limit // callers, "no more than that"


@given(waiting=WINDOWS, budget=st.integers(1, 2000))
def test_repeated_batches_run_every_text_once(waiting: list[Candidate], budget: int) -> None:
    queue = list(enumerate(waiting))
    served: list[int] = []
    while queue:
        chosen = set(next_batch([text for _, text in queue], roomy(budget), {}))
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
