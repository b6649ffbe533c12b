"""Answers that are large."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi import Response
from pydantic import BaseModel


async def written_aside(build: Callable[[], BaseModel]) -> Response:
    """An answer put together and written as JSON in a thread: a large one must not hold up the event loop."""
    content = await asyncio.to_thread(lambda: build().model_dump_json())
    return Response(content, media_type="application/json")
