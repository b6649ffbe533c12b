"""NDJSON uploads: reading long lines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from benchmarks.bounds.bound import at_most
from semblance.service.api.ndjson import read_lines

LINE_BYTES = 8_000_000
PIECE_BYTES = 128


@at_most(3, "s")
def time_of_a_long_line_in_small_pieces() -> float:
    """An upload reads a line of 8 MB in pieces of 128 bytes in linear time.

    Copying the buffer with each piece would take minutes.
    """
    body = b'{"id": "x", "text": "' + b"x" * LINE_BYTES + b'"}'

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), PIECE_BYTES):
            yield body[start : start + PIECE_BYTES]

    async def read() -> None:
        assert [line.number async for line in read_lines(pieces(), len(body))] == [1]

    began = time.perf_counter()
    asyncio.run(read())
    return time.perf_counter() - began
