"""Connection settings and method signatures that both clients share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any, TypedDict, TypeVar, get_args, get_type_hints

import httpx2

from semblance_client.errors import KEY_VARIABLE

F = TypeVar("F", bound=Callable[..., Any])

LOCAL_URL = "http://127.0.0.1:8000"
TIMEOUT_S = 300.0
CONNECT_TIMEOUT_S = 10.0


class ConnectionOptions(TypedDict):
    """Arguments of the clients of httpx2."""

    base_url: str
    timeout: httpx2.Timeout
    headers: dict[str, str]


def options_of(base_url: str, api_key: str | None, timeout_s: float) -> ConnectionOptions:
    """Arguments of the client of httpx2.

    Raises:
        ValueError: the address or the key cannot be one.
    """
    if not base_url.startswith(("http://", "https://")):
        raise ValueError(
            f"the address must begin with http:// or https://, such as {LOCAL_URL}; Unix sockets are not supported: "
            f"{base_url}"
        )
    _require_host(base_url)
    key = api_key or os.environ.get(KEY_VARIABLE)
    if key and not (key.isascii() and key.isprintable()):
        raise ValueError(f"the key, or {KEY_VARIABLE}, has a line break or another character that no key has")
    return ConnectionOptions(
        base_url=base_url,
        timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
        headers={"authorization": f"Bearer {key}"} if key else {},
    )


def _require_host(base_url: str) -> None:
    """Check that an address names a host and a port. Raises ValueError."""
    try:
        address = httpx2.URL(base_url)
    except httpx2.InvalidURL as error:
        raise ValueError(f"the address {base_url!r} is malformed ({error}): give one such as {LOCAL_URL}") from error
    if not address.host or not 0 < (address.port or 80) < 65_536 or "%" in address.host:
        raise ValueError(f"the address {base_url!r} has no valid host and port: give one such as {LOCAL_URL}")


def address_of(http: httpx2.Client | httpx2.AsyncClient) -> httpx2.URL:
    """The address for messages: without a password."""
    return http.base_url.copy_with(userinfo=b"")


def with_signature(method: F, build: Callable[..., Any]) -> F:
    """Give a method the parameters of `build` after `self`, and its response as return type."""
    parameters = inspect.signature(build).parameters.values()
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    job = get_type_hints(build)["return"]
    answer = get_args(job)[0] if get_args(job) else get_args(get_type_hints(job.steps)["return"])[-1]
    signature = inspect.Signature([me, *parameters], return_annotation=answer)
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method
