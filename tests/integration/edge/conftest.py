"""Servers with keys and tight limits: a service as a process, and servers in a thread of the test's process."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
import uvicorn
from starlette.types import ASGIApp

from semblance.service.cli.toolbox.http_service import _uvicorn_config
from semblance.service.settings import Settings
from tests.integration.conftest import require_no_internal_errors
from tests.support.project import PROJECT
from tests.support.running_service import Service, reserved_port, running_process

READER, WRITER, ADMIN = "smb_reader", "smb_writer", "smb_admin"
SCOPES = {READER: "read", WRITER: "read+write", ADMIN: "read+write+admin"}
KEYS = ",".join(f"{key[4:]}:{scopes}:{hashlib.sha256(key.encode()).hexdigest()}" for key, scopes in SCOPES.items())
AS_READER = f"authorization: Bearer {READER}"
ORIGIN = "https://app.example.org"
HEADER_BYTES = 8192
REDIS_PASSWORD = "hunter2"


@pytest.fixture(scope="package")
def service() -> Iterator[Service]:
    with running_process(
        PROJECT,
        None,
        api_keys=KEYS,
        cache="redis",
        redis_url=f"redis://user:{REDIS_PASSWORD}@127.0.0.1:{reserved_port()}/0",  # no server listens there
        cors_origins=ORIGIN,
        max_header_bytes=str(HEADER_BYTES),
    ) as running:
        yield running
        require_no_internal_errors(running, READER)


@pytest.fixture(scope="package")
def anyone(service: Service) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=service.url, timeout=120) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@contextmanager
def serving(app: ASGIApp, settings: Settings) -> Iterator[str]:
    """The URL of a server that runs in a thread, with the limits on connections of `semblance serve`."""
    server = uvicorn.Server(_uvicorn_config(app, settings))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
