"""How long a body may take."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message

from semblance.service.api.edge.request_body import BodyLimits, RequestBody


async def received(pauses: list[float], limits: BodyLimits, *, streamed: bool) -> int:
    """How many bytes arrive of a body whose pieces, a byte each, come after these pauses."""
    coming = iter(pauses)
    left = len(pauses)

    async def receive() -> Message:
        nonlocal left
        await asyncio.sleep(next(coming))
        left -= 1
        return {"type": "http.request", "body": b"x", "more_body": left > 0}

    request_body = RequestBody(receive, limits, streamed=streamed)
    count = 0
    while True:
        message = await request_body.receive()
        count += len(message["body"])
        if not message["more_body"]:
            return count


@pytest.mark.parametrize("streamed", [True, False])
def test_a_pause_in_a_body_ends_it(streamed: bool) -> None:
    with pytest.raises(HTTPException) as caught:
        asyncio.run(received([0.0, 0.5], BodyLimits(1000, pause_s=0.1, timeout_s=9.0), streamed=streamed))
    assert (caught.value.status_code, caught.value.headers) == (408, {"connection": "close"})


def test_a_body_that_trickles_is_held_to_its_whole_time_unless_it_is_streamed() -> None:
    pauses, limits = [0.05] * 10, BodyLimits(1000, pause_s=0.4, timeout_s=0.2)
    with pytest.raises(HTTPException, match="408"):
        asyncio.run(received(pauses, limits, streamed=False))
    assert asyncio.run(received(pauses, limits, streamed=True)) == 10


def test_after_the_body_the_news_that_the_client_left_may_take_any_time() -> None:
    async def use() -> str:
        messages: Iterator[tuple[float, Message]] = iter(
            [(0.0, {"type": "http.request", "body": b""}), (0.3, {"type": "http.disconnect"})]
        )

        async def receive() -> Message:
            pause, message = next(messages)
            await asyncio.sleep(pause)
            return message

        request_body = RequestBody(receive, BodyLimits(1000, pause_s=0.1, timeout_s=0.1), streamed=False)
        await request_body.receive()
        return str((await request_body.receive())["type"])

    assert asyncio.run(use()) == "http.disconnect"
