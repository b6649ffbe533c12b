"""A running service with keys, tight limits on connections, and one allowed origin."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import httpx2
import pytest

from tests.integration.conftest import require_no_internal_errors
from tests.support.running_service import Service, reserved_port, running_process

READER, WRITER, ADMIN = "smb_reader", "smb_writer", "smb_admin"
SCOPES = {READER: "read", WRITER: "read+write", ADMIN: "read+write+admin"}
AS_READER = f"authorization: Bearer {READER}"
ORIGIN = "https://app.example.org"
CONNECTIONS = 60
HEADER_BYTES = 8192
REDIS_PASSWORD = "hunter2"
HEADER_S = 3.0
PAUSE_S = 1.5
BODY_S = 3.0


@pytest.fixture(scope="package")
def service() -> Iterator[Service]:
    keys = (f"{key[4:]}:{scopes}:{hashlib.sha256(key.encode()).hexdigest()}" for key, scopes in SCOPES.items())
    with running_process(
        api_keys=",".join(keys),
        cache="redis",
        redis_url=f"redis://user:{REDIS_PASSWORD}@127.0.0.1:{reserved_port()}/0",  # no server listens there
        cors_origins=ORIGIN,
        max_connections=str(CONNECTIONS),
        max_header_bytes=str(HEADER_BYTES),
        header_timeout_s=str(HEADER_S),
        body_pause_s=str(PAUSE_S),
        body_timeout_s=str(BODY_S),
    ) as running:
        yield running
        require_no_internal_errors(running, READER)


@pytest.fixture(scope="package")
def anyone(service: Service) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=service.url, timeout=60) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}
