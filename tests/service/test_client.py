"""What the client of a running service says of one that it cannot reach."""

from __future__ import annotations

import socket

import pytest

from semblance.service.client import Client, ServiceError


def test_a_password_in_the_address_of_a_service_is_not_shown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Client(f"http://user:hunter2@127.0.0.1:{port}") as client:
        with pytest.raises(ServiceError, match=rf"cannot reach http://127\.0\.0\.1:{port}") as asked:
            client.ask("GET", "/live")
        with pytest.raises(ServiceError, match=rf"lost http://127\.0\.0\.1:{port}") as stored:
            list(client.index("c", [b"{}"], patience_s=0))
    assert "hunter2" not in f"{asked.value} {stored.value}"
