"""Ports that the system gives to no other listener and no connection."""

from __future__ import annotations

import socket

from tests.support.running_service import reserved_port


def test_no_listener_or_connection_takes_a_reserved_port() -> None:
    reserved = {reserved_port() for _ in range(2000)}
    opened = [socket.create_server(("127.0.0.1", 0), backlog=400)]
    address = opened[0].getsockname()
    opened += [socket.create_server(("127.0.0.1", 0)) for _ in range(200)]
    opened += [socket.create_connection(address) for _ in range(400)]
    taken = {each.getsockname()[1] for each in opened}
    for each in opened:
        each.close()
    assert len(reserved) == 2000
    assert not taken & reserved


def test_a_server_listens_on_a_reserved_port_again_and_again() -> None:
    port = reserved_port()
    for _ in range(3):
        server = socket.create_server(("127.0.0.1", port))
        with server, socket.create_connection(("127.0.0.1", port)) as client:
            server.accept()[0].close()
            assert client.recv(1) == b""
