"""Limits of a body: its time, and the values in its JSON."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.types import Message

from semblance.service.api.edge.request_body import MAX_VALUES, BodyLimits, JsonValues, RequestBody, too_many_values

END = b"the end"
LONG_S = 600.0


async def received(pieces: Iterable[bytes], limits: BodyLimits, *, streamed: bool) -> int:
    """Number of bytes received of a body in these pieces; after the last one, its end never comes."""
    left = iter(pieces)

    async def receive() -> Message:
        await asyncio.sleep(0)  # a limit that is reached strikes here
        if (piece := next(left, None)) is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": piece, "more_body": piece != END}

    request_body = RequestBody(receive, limits, streamed=streamed)
    count = 0
    while True:
        message = await request_body.receive()
        count += len(message["body"])
        if not message["more_body"]:
            return count


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_long_pause_in_a_body_times_out(streamed: bool) -> None:
    with pytest.raises(HTTPException) as caught:
        await received([b"x"], BodyLimits(1000, pause_s=0.1, timeout_s=LONG_S), streamed=streamed)
    assert (caught.value.status_code, caught.value.headers) == (408, {"connection": "close"})


async def test_a_trickling_body_times_out_unless_streamed() -> None:
    limits = BodyLimits(10**9, pause_s=LONG_S, timeout_s=0.0)
    with pytest.raises(HTTPException, match="408"):
        await received(itertools.repeat(b"x"), limits, streamed=False)
    assert await received([*[b"x"] * 10, END], limits, streamed=True) == 10 + len(END)


async def test_a_disconnect_after_the_body_may_come_at_any_time() -> None:
    messages: Iterator[Message] = iter([{"type": "http.request", "body": b""}, {"type": "http.disconnect"}])

    async def receive() -> Message:
        message = next(messages)
        if message["type"] == "http.disconnect":
            await asyncio.sleep(0)  # any limit would strike here
        return message

    request_body = RequestBody(receive, BodyLimits(1000, pause_s=0.0, timeout_s=0.0), streamed=False)
    await request_body.receive()
    assert (await request_body.receive())["type"] == "http.disconnect"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab\\",[{}]é\u2200🎉\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='k\\",['), inner),
)


def entries(value: Any) -> int:
    """Entries of every list and object; an empty one counts as one."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return max(1, len(value)) + sum(map(entries, inner))
    return 0


@given(value=JSON_VALUES, ascii_only=st.booleans(), cuts=st.lists(st.integers(0, 200), max_size=6))
def test_entries_are_counted_wherever_the_text_is_cut(value: Any, ascii_only: bool, cuts: list[int]) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    values = JsonValues()
    for start, end in itertools.pairwise(edges):
        values.add(text[start:end])
    assert values.count == entries(value)


@given(value=JSON_VALUES, encoding=st.sampled_from(["utf-16", "utf-16-le", "utf-32"]))
def test_other_encodings_count_no_less(value: Any, encoding: str) -> None:
    values = JsonValues()
    values.add(json.dumps(value).encode(encoding))
    assert values.count >= entries(value)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (b"[" + b"1," * MAX_VALUES + b"1]", True),
        (b"[" * (MAX_VALUES + 1), True),
        (b"[" + b"1," * (MAX_VALUES - 1) + b"1]", False),
        (b'["' + b"[{,}]" * 1_000_000 + b'"]', False),
        (b'["' + rb"\\\"[," * 1_000_000 + b'"]', False),
        (b'["\\\\"' + b",[]" * MAX_VALUES + b"]", True),
    ],
    ids=["numbers", "brackets", "just not too many", "one string", "one string of escapes", "after a string"],
)
def test_only_texts_that_are_slow_to_parse_are_refused(text: bytes, refused: bool) -> None:
    assert too_many_values(text) is refused
