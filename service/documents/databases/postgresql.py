"""PostgreSQL, the primary database of several replicas: engine, and notifications of writes."""

from __future__ import annotations

import re
import time
from threading import Event
from typing import Any

import psycopg
from pydantic import PostgresDsn
from sqlalchemy import URL, Engine, create_engine, make_url

from semblance.service.documents.database import CHANNEL
from semblance.service.documents.schema import vectors_of_passages

PORT = 5432
CONNECT_TIMEOUT_S = 3  # libpq waits at least 2 s
WAIT_STEP_S = 0.5  # between checks of the stop event

# not in schema.py, as SQLAlchemy would import its dialect of PostgreSQL for that, also where there is only SQLite
_only = vectors_of_passages.dialect_options
_only["postgresql"]["where"] = _only["sqlite"]["where"]


def postgresql_engine(url: str, connections: int, timeout_s: float) -> Engine:
    """Create an engine on `url`, without opening a connection.

    Statements, waits for a lock or a free connection, and idle transactions end after `timeout_s`, so a suspended
    replica does not keep its locks. A lost server is noticed within that time too. Errors omit the parameters of
    statements, so that no document text reaches the log.
    """
    address, servers = _split(url)
    limit_ms = round(timeout_s * 1000)
    options = {
        "statement_timeout": limit_ms,
        "lock_timeout": limit_ms,
        "idle_in_transaction_session_timeout": limit_ms,
        "default_transaction_isolation": "read\\ committed",
    }
    return create_engine(
        address.set(drivername="postgresql+psycopg"),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=timeout_s,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args=_liveness_options(timeout_s)
        | servers
        | {
            "application_name": "semblance",
            "options": " ".join(f"-c {name}={value}" for name, value in options.items()),
        },
    )


class Notifications:
    """Receives notifications of writes to any collection, on its own connection. For one thread.

    Args:
        url: of the database.
        timeout_s: time within which a lost server is noticed.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        address, self._servers = _split(url)
        self._url = address.set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection: psycopg.Connection | None = None

    def wait(self, longest_s: float, stop: Event) -> None:
        """Wait for a notification, for `longest_s`, or for `stop`, whichever is first.

        Without a connection it waits for the rest of the time, and the next call reconnects.
        """
        until = time.monotonic() + longest_s
        while not stop.is_set() and (left := until - time.monotonic()) > 0:
            try:
                if self._receive(min(left, WAIT_STEP_S)):
                    return
            except psycopg.Error:
                self.close()
                stop.wait(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _receive(self, timeout_s: float) -> bool:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                application_name="semblance listener",
                **_liveness_options(self._timeout_s) | self._servers,
            )
            self._connection.execute(f"LISTEN {CHANNEL}")
            return True  # earlier writes may have been missed
        return any(True for _ in self._connection.notifies(timeout=timeout_s, stop_after=1))


def _split(url: str) -> tuple[URL, dict[str, Any]]:
    """A URL for SQLAlchemy, and the options of libpq for servers that it cannot name: several."""
    hosts = PostgresDsn(url).hosts()
    if len(hosts) == 1:
        return make_url(url), {}
    head, _, rest = url.partition("://")
    servers = re.match(r"(?:[^/?#]*@)?([^/?#]*)", rest)
    assert servers is not None  # it matches nothing, too
    names = [str(host["host"]).strip("[]") for host in hosts]
    ports = [str(host["port"] or PORT) for host in hosts]
    address = make_url(f"{head}://{rest[: servers.start(1)]}{names[0]}{rest[servers.end(1) :]}")
    return address, {"host": ",".join(names), "port": ",".join(ports)}


def _liveness_options(timeout_s: float) -> dict[str, Any]:
    """Connection options that detect a lost server in time."""
    return {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "keepalives_idle": max(1, round(timeout_s)),
        "keepalives_interval": 2,
        "keepalives_count": 2,
        "tcp_user_timeout": round(timeout_s * 1000),
    }
