"""Both clients of a running service, behind one interface."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import httpx2
import pytest
from semblance_client import AsyncClient, Client

from tests.clients.python.scripted_server import ScriptedServer
from tests.support.fake_clock import FakeClock
from tests.support.running_service import running_service

Connect: TypeAlias = Callable[..., Client]


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with running_service(sample="1") as address:
        yield address


@pytest.fixture(scope="session")
def http(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, timeout=120) as client:
        yield client


class AwaitedClient:
    """An AsyncClient whose methods are awaited in an event loop of its own, so that it is called like a Client."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: self._runner.run(getattr(self._client, name)(*arguments, **options))

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


@pytest.fixture(params=[Client, AwaitedClient], ids=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes clients, of either kind, that are closed at the end of the test."""
    with ExitStack() as stack:

        def made(*arguments: Any, **options: Any) -> Client:
            client = cast("Client", request.param(*arguments, **options))
            stack.callback(client.close)
            return client

        yield made


@pytest.fixture(scope="session")
def client(url: str) -> Iterator[Client]:
    """A client of the service: what a call does is the same in both kinds."""
    with Client(url) as made:
        yield made


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that clients make, which only move their clock."""
    clock, made = FakeClock(), list[float]()

    def pause(seconds: float) -> None:
        made.extend([seconds] if seconds else [])
        clock.now += seconds

    async def awaited_pause(seconds: float) -> None:
        pause(seconds)

    monkeypatch.setattr("semblance_client.steps.time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr("semblance_client.client.time", SimpleNamespace(sleep=pause))
    monkeypatch.setattr("semblance_client.async_client.asyncio", SimpleNamespace(sleep=awaited_pause))
    return made


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running
