"""Refusals in the shape of OpenAI's API, for every path under /v1/."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, Field
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from semblance.service.errors import Problem

PREFIX = "/v1/"
SHOWN = 10  # refused parts in one message


class ErrorOut(BaseModel):
    """What was wrong."""

    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: str | None = Field(description="The refused field of the body, if it is one.")
    code: str = Field(description="Stable; programs may rely on it.")


class ErrorAnswer(BaseModel):
    """A refusal in the shape of OpenAI's API."""

    error: ErrorOut

    @classmethod
    def of(cls, status: int, code: str, detail: str, parts: Sequence[Problem]) -> Self:
        """The refusal that a problem with these members describes."""
        return cls(
            error=ErrorOut(
                message=_message(parts) if parts else detail,
                type="server_error" if status >= 500 else "invalid_request_error",
                param=parts[0].pointer.split("/")[1] or None if parts and parts[0].pointer else None,
                code=code,
            )
        )


class Refusal(Response):
    """A problem, sent in OpenAI's shape if the path of the request is under /v1/.

    Status 422 becomes 400 there, for which OpenAI's clients raise BadRequestError.
    """

    def __init__(
        self,
        problem: Mapping[str, Any],
        as_openai: ErrorAnswer,
        status: int,
        headers: Mapping[str, str],
        media_type: str,
    ) -> None:
        self._as_openai = as_openai
        super().__init__(_ascii(problem), status, headers, media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; only this method chooses between the shapes."""
        if scope["path"].startswith(PREFIX):
            self.status_code = status_under_v1(self.status_code)
            self.body = _ascii(self._as_openai.model_dump())
            self.headers["content-length"] = str(len(self.body))
            self.headers["content-type"] = "application/json"
        await super().__call__(scope, receive, send)


def status_under_v1(status: int) -> int:
    """The status under /v1/ of a problem with `status`.

    >>> status_under_v1(422), status_under_v1(404)
    (400, 404)
    """
    return 400 if status == 422 else status


def _message(parts: Sequence[Problem]) -> str:
    shown = "; ".join(f"{part.pointer}: {part.detail}".removeprefix(": ") for part in parts[:SHOWN])
    return shown + (f"; and {len(parts) - SHOWN} more" if len(parts) > SHOWN else "")


def _ascii(content: Mapping[str, Any]) -> bytes:
    """JSON in ASCII: a detail may repeat a name with lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(content).encode("ascii")
