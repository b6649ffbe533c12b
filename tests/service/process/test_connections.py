"""How many files may be open, of which connections are most, and how answers go out."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from typing import cast

import pytest

from semblance.service.process.connections import InOne


@pytest.mark.parametrize(
    ("hard", "connections", "soft_after", "told"),
    [(5000, 1000, 1256, False), (500, 1000, 500, True), (5000, 10, 300, False)],
)
def test_the_limit_of_open_files_is_raised_as_far_as_it_goes(
    hard: int, connections: int, soft_after: int, told: bool
) -> None:
    """In a process of its own: a hard limit can't be raised again."""
    code = (
        "import resource; from semblance.service.process.connections import allow_files; "
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (300, {hard})); said = allow_files({connections}); "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], said)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    soft, _, said = ran.stdout.strip().partition(" ")
    assert int(soft) == soft_after
    assert ("SEMBLANCE_MAX_CONNECTIONS" in said) == told


class Wire:
    """What a transport was given to write, each time."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def writelines(self, pieces: Iterable[bytes]) -> None:
        self.write(b"".join(pieces))

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("acts", "expected"),
    [
        ("head body", [b"headbody"]),
        ("head body body", [b"headbody", b"body"]),
        ("head turn body turn body", [b"head", b"body", b"body"]),
        ("head turn", [b"head"]),
        ("head close", [b"head"]),
        ("head body close turn", [b"headbody"]),
    ],
)
def test_the_head_of_an_answer_goes_out_with_what_follows_at_once_and_never_waits_for_more(
    acts: str, expected: list[bytes]
) -> None:
    async def use() -> Wire:
        wire = Wire()
        answer = InOne(cast("asyncio.Transport", wire), asyncio.get_running_loop())
        for act in acts.split():
            if act == "turn":
                await asyncio.sleep(0)
            elif act == "close":
                answer.close()
            else:
                answer.write(act.encode())
        assert wire.closed == ("close" in acts)
        return wire

    assert asyncio.run(use()).writes == expected
