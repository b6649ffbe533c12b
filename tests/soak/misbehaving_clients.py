"""Slow, large and numerous requests that one client can send to a service."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.support.load_generator import Connection, get, post, post_head

MIB = 1024 * 1024
LARGEST = 8 * MIB  # the default limit of a body
TINY_CONNECTIONS = 50
PAIR = {"pairs": [{"a": "A cat.", "b": "A dog."}]}

Action: TypeAlias = Callable[[str], Awaitable[Counter[int]]]  # URL of the service -> statuses of its responses


@dataclass(frozen=True, slots=True)
class Misbehavior:
    """An action against a service, and the statuses with which it may respond."""

    name: str
    expected: Sequence[int]
    act: Action


def send_pieces(pieces: Iterable[bytes], pause_s: float = 0.0) -> Action:

    async def act(url: str) -> Counter[int]:
        async with Connection.opened(url) as connection:
            status, _ = await connection.exchange(*pieces, pause_s=pause_s)
        return Counter([status])

    return act


def send_body(body: bytes, path: str = "/similarity") -> Action:
    return send_pieces([post_head(path, len(body)), body])


def tiny_requests(count: int) -> Action:
    kinds = (get("/live"), post("/similarity", PAIR))

    async def client(url: str, number: int) -> list[int]:
        async with Connection.opened(url) as connection:
            requests = [kinds[(i + number) % 2] for i in range(count // TINY_CONNECTIONS)]
            return [(await connection.exchange(request))[0] for request in requests]

    async def act(url: str) -> Counter[int]:
        results = await asyncio.gather(*(client(url, number) for number in range(TINY_CONNECTIONS)))
        return Counter(status for statuses in results for status in statuses)

    return act


def misbehaviors(tiny: int, largest: int) -> list[Misbehavior]:
    """All misbehaviors, with `tiny` small requests and bodies of up to `largest` bytes."""
    size = f"{largest / MIB:g} MB"
    text = "all work and no play " * 4700  # just below the limit of a text
    texts = [f"{i} {text}" for i in range(largest // len(text) - 1)]
    large = json.dumps({"model": "minilm-graded", "input": texts, "truncate": "END"}).encode()
    numbers = b'{"pairs":[' + b"1," * (largest // 2 - 10) + b"1]}"
    lists = b'{"pairs":[' + b"[]," * (largest // 3 - 10) + b"1]}"
    pair = post("/similarity", PAIR)
    start = pair.index(b"{") + 10
    trickle = [pair[:start], *(bytes([each]) for each in pair[start:])]  # within the time limit
    return [
        Misbehavior("a body trickles in", (200,), send_pieces(trickle, pause_s=0.1)),
        Misbehavior("a body stops half-way", (408,), send_pieces([pair[:start]])),
        Misbehavior("a body of 10 MB", (413,), send_body(b" " * 10_000_000)),
        Misbehavior(f"{size} of text", (200,), send_body(large, "/v1/embeddings")),
        Misbehavior(f"{size} of [1,1,1,...", (413,), send_body(numbers)),
        Misbehavior(f"{size} of [],[],[],...", (413,), send_body(lists)),
        Misbehavior(f"{size} of [[[[...", (413,), send_body(b"[" * largest)),
        Misbehavior(f"{tiny:,} tiny requests", (200,), tiny_requests(tiny)),
    ]
