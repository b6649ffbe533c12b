"""Answers with a body of JSON."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Response

from semblance.service.offload import Aside

_writing = Aside()


async def written(kind: str, size: float, write: Callable[[], str | bytes]) -> Response:
    """The JSON that `write` puts together: in a thread if it is large, since it must not hold up the event loop.

    Args:
        kind: what is written.
        size: how much of it, in whatever the time of writing grows with.
        write: makes it.
    """
    return Response(await _writing.do(kind, size, write), media_type="application/json")
