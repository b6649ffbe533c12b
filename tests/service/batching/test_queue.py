"""The queue limits the time of batches by the pace of earlier ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from semblance.service.batching.policy import MIN_BATCH, Limits
from semblance.service.batching.queue import Queue
from semblance.service.batching.requests import QueuedRequest, QueuedText
from semblance.service.observability.metrics import Metrics
from tests.service.batching.slow_encoder import SlowEncoder

SLOW = SlowEncoder()
IN_TIME = Limits(batch_tokens=1000, request_tokens=10**6, queued_tokens=10**6, batch_s=0.1)


def queue_of(texts: int) -> Queue:
    """A queue in which that number of texts of one token wait."""
    queue = Queue(IN_TIME, Metrics(), lambda: 0.0)
    tokens = SLOW.tokenize([str(n) for n in range(texts)], "query", "END")
    queue.put(QueuedRequest(SLOW, "tokens", tokens, bulk=False, caller="", future=asyncio.Future(), submitted=0.0))
    return queue


def encode(queue: Queue, batch: Sequence[QueuedText], seconds: float) -> None:
    SLOW.permits.release()
    queue.finish(batch, SLOW.encode([text.text for text in batch], "tokens"), seconds)


@pytest.mark.parametrize(("seconds", "expected"), [(2.0, MIN_BATCH), (0.25, 400), (0.1, 1000), (0.01, 1000)])
async def test_a_batch_takes_no_longer_than_it_should(seconds: float, expected: int) -> None:
    queue = queue_of(2000)
    first = queue.take()
    assert len(first) == 1000, "the limit, while the pace is not known"
    encode(queue, first, seconds)
    assert len(queue.take()) == expected
