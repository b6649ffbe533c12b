"""Errors of the client about a service that it cannot reach."""

from __future__ import annotations

import socket

import pytest

from semblance.service.client import Client, ServiceError


def test_errors_do_not_contain_the_password_of_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with Client(f"http://user:hunter2@127.0.0.1:{port}") as client:
        with pytest.raises(ServiceError, match=rf"cannot reach http://127\.0\.0\.1:{port}") as requested:
            client.request("GET", "/live")
        with pytest.raises(ServiceError, match=rf"lost the connection to http://127\.0\.0\.1:{port}") as stored:
            list(client.index("c", [b"{}"], retry_for_s=0))
    assert "hunter2" not in f"{requested.value} {stored.value}"
