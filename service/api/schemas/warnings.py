"""Warnings in answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from pydantic import BaseModel, Field

from semblance.service.request_warnings import RequestWarning, WarningCode

MAX_WARNINGS = 100  # in one answer


class WarningOut(BaseModel):
    """A part of a request that was accepted, but may not do what the client expects."""

    pointer: str = Field(description="JSON pointer into the body; query parameters are named like fields of a body.")
    code: WarningCode = Field(description="Stable; programs may rely on it.")
    detail: str


Warnings: TypeAlias = Annotated[
    list[WarningOut], Field(description=f"Empty if there are none; the first {MAX_WARNINGS} if there are more.")
]


def warnings_out(notices: Sequence[RequestWarning]) -> list[WarningOut]:
    """The warnings of an answer as JSON."""
    return [
        WarningOut(pointer=_encodable(each.pointer), code=each.code, detail=each.detail)
        for each in notices[:MAX_WARNINGS]
    ]


def _encodable(text: str) -> str:
    """The text with `?` for lone surrogates, which the name of a field in a filter may have."""
    return text.encode(errors="replace").decode()
