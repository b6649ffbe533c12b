"""Routes of one body, called without the way of FastAPI to arguments, which takes longer than a small request."""

from __future__ import annotations

import json
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

_MISSING = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}


class DirectRoute(APIRoute):
    """What it documents, accepts and refuses is as FastAPI has it.

    Its handler takes the validated `body` and, as `use`, the services; it returns a Response.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises RequestValidationError, HTTPException, and whatever the handler does."""
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        body = self._validated(await _whole(receive))
        answer = await self.endpoint(body=body, use=scope["app"].state.services)
        await answer(scope, receive, send)

    def _validated(self, given: bytes) -> Any:
        if not given:
            raise RequestValidationError([_MISSING])
        assert self.body_field is not None
        body, errors = self.body_field.validate(_parsed(given), loc=("body",))
        if errors:
            raise RequestValidationError(errors)
        return body


def _parsed(given: bytes) -> Any:
    try:
        return json.loads(given)
    except json.JSONDecodeError as error:
        found = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([found]) from error
    except Exception as error:  # it is in no encoding of JSON, or nested too deep
        raise HTTPException(400, "There was an error parsing the body") from error


async def _whole(receive: Receive) -> bytes:
    """The body. Raises ClientDisconnect: the client left before it had sent all."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)
