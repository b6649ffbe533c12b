"""Limits of a body: its time, and the values in its JSON."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import tracemalloc
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.types import Message

from semblance.service.api.edge.request_body import (
    INFLATED,
    MAX_VALUES,
    BodyLimits,
    Gunzip,
    JsonValues,
    RequestBody,
    too_many_values,
)

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


async def unzipped(pieces: Iterable[bytes], max_bytes: int = 10**7, *, streamed: bool = False) -> list[bytes]:
    """The messages of a gzip body in these pieces, the last of which ends it."""
    left = list(pieces)

    async def receive() -> Message:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    request_body = RequestBody(receive, BodyLimits(max_bytes, LONG_S, LONG_S), streamed=streamed, zipped=True)
    received: list[bytes] = []
    while True:
        message = await request_body.receive()
        received.append(message["body"])
        if not message["more_body"]:
            assert not left, "nothing is left unread"
            return received


@given(
    files=st.lists(st.binary(max_size=300) | st.integers(1, 3 * INFLATED), min_size=1, max_size=3),
    cuts=st.lists(st.integers(0, 400), max_size=6),
)
async def test_gzip_is_read_wherever_it_is_cut(files: list[bytes | int], cuts: list[int]) -> None:
    """Also several files in one; a number stands for that number of zero bytes."""
    plain = [bytes(file) for file in files]
    packed = b"".join(map(gzip.compress, plain))
    edges = [0, *sorted(min(cut, len(packed)) for cut in cuts), len(packed)]
    parts = await unzipped([packed[start:end] for start, end in itertools.pairwise(edges)], streamed=True)
    assert b"".join(parts) == b"".join(plain)
    assert max(map(len, parts)) <= INFLATED


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"{}",
        gzip.compress(b"text")[:-1],
        gzip.compress(b"text")[:-8],
        gzip.compress(b"text")[:5],
        gzip.compress(b"text") + b"more",
        gzip.compress(b"text")[:-8] + bytes(8),
        zlib.compress(b"text"),
        gzip.compress(b"x" * 10**6)[:-1],
    ],
    ids=["empty", "not compressed", "cut in the end", "without checksum", "head", "more", "checksum", "zlib", "large"],
)
async def test_bodies_that_are_no_gzip_are_malformed(packed: bytes) -> None:
    for pieces in ([packed], [packed[:3], packed[3:]], [packed, b""]):
        with pytest.raises(HTTPException, match="not valid gzip") as caught:
            await unzipped(pieces)
        assert caught.value.status_code == 400


async def test_a_bomb_is_rejected_before_it_is_inflated() -> None:
    bomb = gzip.compress(b"x" * 10**8)
    tracemalloc.start()
    try:
        with pytest.raises(HTTPException, match="exceeds the limit of 1,000,000 bytes") as caught:
            await unzipped([bomb], max_bytes=10**6)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.status_code == 413
    assert peak < 3 * 10**6, "of a hundred million"


async def test_the_limit_counts_what_a_body_inflates_to() -> None:
    packed = gzip.compress(b"x" * 1000)
    assert len(packed) < 100
    assert len(b"".join(await unzipped([packed], max_bytes=1000))) == 1000
    with pytest.raises(HTTPException, match="413"):
        await unzipped([packed], max_bytes=999)
    values = gzip.compress(b"[" + b"1," * MAX_VALUES + b"1]")
    with pytest.raises(HTTPException, match="values"):
        await unzipped([values])


async def test_others_are_served_between_the_parts_of_a_piece() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)  # a turn for each part

    counting = asyncio.ensure_future(count())
    parts = await unzipped([gzip.compress(bytes(50 * INFLATED))], streamed=True)
    counting.cancel()
    assert sum(map(len, parts)) == 50 * INFLATED
    assert turns >= 49


def test_a_piece_has_more_parts_until_all_is_read() -> None:
    gunzip = Gunzip()
    gunzip.add(gzip.compress(bytes(INFLATED)))
    parts = []
    while gunzip.more:
        parts.append(gunzip.part())
    assert (sum(map(len, parts)), gunzip.complete) == (INFLATED, True)


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
