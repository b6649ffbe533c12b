"""Callers take turns by the tokens they got; the texts of one caller keep their order."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.service.batching.policy import BULK_DELAY_S, Candidate, Limits
from semblance.service.batching.requests import QueuedText
from semblance.service.batching.turns import Turns
from tests.service.batching.slow_encoder import SlowEncoder

BATCH = 1000
LENGTHS = st.integers(150, 300)  # that may share a batch
SLOW = SlowEncoder()
[TOKENS] = SLOW.tokenize(["1"], "query", "END")


def turns(batch_tokens: int = BATCH) -> Turns:
    return Turns(Limits(batch_tokens, request_tokens=10**6, queued_tokens=10**6))


def text(caller: str, tokens: int, due: float, *, bulk: bool = False, group: str = "") -> QueuedText:
    candidate = Candidate(caller, tokens, (group, bulk), due, "bulk" if bulk else "interactive")
    return QueuedText(object(), SLOW, "tokens", TOKENS, candidate)


TEXTS = st.lists(
    st.builds(
        text,
        st.sampled_from("xyz"),
        st.integers(1, 400),
        st.floats(0, 100),
        bulk=st.booleans(),
        group=st.sampled_from("ab"),
    ),
    max_size=60,
)


@given(texts=TEXTS, now=st.floats(0, 100))
def test_every_text_runs_once_and_callers_keep_their_order(texts: list[QueuedText], now: float) -> None:
    queue, waiting = turns(), {id(each): each for each in texts}
    for each in texts:
        queue.add(each)
    while batch := queue.take(now):
        caller = batch[0].candidate.caller
        dues = [each.candidate.due for each in waiting.values() if each.candidate.caller == caller]
        assert batch[0].candidate.due == min(dues)
        for each in batch:
            del waiting[id(each)]
    assert not waiting, "there is a batch as long as a text waits"
    assert not queue
    assert queue.tokens == {"interactive": 0, "bulk": 0}


@given(one=st.lists(LENGTHS, min_size=40), other=st.lists(LENGTHS, min_size=40), later=st.floats(-50, 50))
def test_waiting_callers_get_equal_shares_up_to_a_batch(one: list[int], other: list[int], later: float) -> None:
    queue = turns()
    for i, tokens in enumerate(one):
        queue.add(text("x", tokens, i / 10))
    for i, tokens in enumerate(other):
        queue.add(text("y", tokens, later + i / 10))
    served = Counter[str]()
    for _ in range(min(sum(one), sum(other)) // BATCH):  # while both wait
        for each in queue.take(now=0.0):
            served[each.candidate.caller] += each.candidate.tokens
    # one is a batch ahead and fills another, and debts fall by a hundredth
    assert abs(served["x"] - served["y"]) <= 2 * BATCH + served.total() / 100


@given(earlier=st.integers(1, 10), lengths=st.lists(LENGTHS, min_size=60, max_size=60))
def test_a_caller_who_waited_for_nothing_is_next(earlier: int, lengths: list[int]) -> None:
    queue = turns()
    for tokens in lengths:
        queue.add(text("flood", tokens, due=-100.0))
    for _ in range(earlier):
        queue.take(now=0.0)
    for tokens in lengths:  # or the backlog might be served
        queue.add(text("flood", tokens, due=-100.0))
    queue.add(text("small", 5, due=0.0))
    assert [each.candidate.caller for each in queue.take(now=0.0)] == ["small"]
    for _ in range(2 * BATCH // 200):  # it saved no credit for its idle time, and gets no more than its turns
        queue.add(text("small", 200, due=0.0))
    batches = [queue.take(now=0.0) for _ in range(4)]
    assert {each.candidate.caller for batch in batches for each in batch} == {"small", "flood"}


@pytest.mark.parametrize("tokens", [100, 300, BATCH])
def test_new_callers_cannot_keep_a_waiting_one_back(tokens: int) -> None:
    queue = turns()
    queue.add(text("x", BATCH, due=0.0))
    queue.take(now=0.0)
    queue.add(text("x", 1, due=0.0, group="another model"))
    for number in range(100 * BATCH // tokens + 2):
        queue.add(text(f"new {number}", tokens, due=1.0 + number))
        if queue.take(now=1.0 + number)[0].candidate.caller == "x":
            break
    else:
        raise AssertionError("the caller starved")
    assert len(queue._debts) <= 102, "few callers are remembered"


def test_background_work_waits_for_others_for_a_limited_time() -> None:
    queue = turns()
    for number in range(3):
        queue.add(text("x", BATCH, due=BULK_DELAY_S, bulk=True))
        queue.add(text("y", BATCH, due=float(number)))
    early = [queue.take(now=BULK_DELAY_S - 1) for _ in range(2)]
    late = [queue.take(now=BULK_DELAY_S) for _ in range(4)]
    assert [batch[0].candidate.caller for batch in (*early, *late)] == ["y", "y", "x", "y", "x", "x"]


def test_dropped_texts_take_no_turn() -> None:
    queue = turns()
    texts = [text("x", 10, due=1.0), text("y", 10, due=2.0), text("y", 10, due=3.0)]
    for each in texts:
        queue.add(each)
    queue.drop(texts[0])
    queue.drop(texts[1])
    assert queue
    assert (queue.interactive_tokens.get("x", 0), queue.interactive_tokens.get("y", 0)) == (0, 10)
    assert queue.take(now=0.0) == texts[2:]
    assert not queue
