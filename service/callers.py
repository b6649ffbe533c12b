"""Who sent the request that a task serves; the model is shared fairly among callers."""

from __future__ import annotations

from contextvars import ContextVar

_caller: ContextVar[str] = ContextVar("caller", default="")  # the service itself, as for its first encoding


def set_caller(name: str) -> None:
    """Set the caller of this task's request: the name of its key, or the address of its client."""
    _caller.set(name)


def current_caller() -> str:
    """The caller of this task's request; empty outside of requests."""
    return _caller.get()
