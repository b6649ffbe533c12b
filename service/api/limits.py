"""Limits that are settings, and so cannot stand in a schema."""

from __future__ import annotations

from semblance.service.errors import InvalidRequest, Problem


def require_at_most(pointer: str, value: int, limit: int, what: str) -> None:
    """Refuse a request that asks for too much. Raises InvalidRequest."""
    if value > limit:
        raise InvalidRequest([Problem(pointer, "out_of_range", f"{value:,} {what}; at most {limit:,} are taken")])
