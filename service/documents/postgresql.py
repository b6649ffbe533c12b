"""The database of a deployment with several replicas: PostgreSQL, and how it tells that something was written."""

from __future__ import annotations

import time
from threading import Event
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine, make_url

from semblance.service.documents.database import CHANNEL

CONNECT_S = 3  # libpq waits at least two
TURN_S = 0.5  # how long one wait for a notification lasts, so that an end is noticed


def postgresql_engine(url: str, connections: int, timeout_s: float) -> Engine:
    """An engine on `url`, which opens no connection yet.

    Every statement, and every wait for a lock or a free connection, ends after `timeout_s`; so does a transaction that
    idles, so that a stopped replica holds no lock. A server that is gone is noticed within that time too.

    The texts in a statement stay out of errors, and so out of the log.
    """
    limit_ms = round(timeout_s * 1000)
    options = {
        "statement_timeout": limit_ms,
        "lock_timeout": limit_ms,
        "idle_in_transaction_session_timeout": limit_ms,
        "default_transaction_isolation": "read\\ committed",
    }
    return create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=timeout_s,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args=_noticing(timeout_s)
        | {
            "application_name": "semblance",
            "options": " ".join(f"-c {name}={value}" for name, value in options.items()),
        },
    )


class Notifications:
    """Hears of writes to any collection, on a connection of its own. For one thread.

    Args:
        url: of the database.
        timeout_s: within which a server that is gone is noticed.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._url = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection: psycopg.Connection | None = None

    def wait(self, longest_s: float, stop: Event) -> None:
        """Return at the next notification, after `longest_s`, or when `stop` is set, whichever is first.

        A lost connection is no more than a missing notification: the time is waited for, and the next call dials.
        """
        until = time.monotonic() + longest_s
        while not stop.is_set() and (left := until - time.monotonic()) > 0:
            try:
                if self._heard(min(left, TURN_S)):
                    return
            except psycopg.Error:
                self.close()
                stop.wait(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _heard(self, longest_s: float) -> bool:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url, autocommit=True, application_name="semblance listener", **_noticing(self._timeout_s)
            )
            self._connection.execute(f"LISTEN {CHANNEL}")
            return True  # what was written before is looked for at once
        return any(True for _ in self._connection.notifies(timeout=longest_s, stop_after=1))


def _noticing(timeout_s: float) -> dict[str, Any]:
    """Options of a connection that does not wait for a server which is gone."""
    return {
        "connect_timeout": CONNECT_S,
        "keepalives_idle": max(1, round(timeout_s)),
        "keepalives_interval": 2,
        "keepalives_count": 2,
        "tcp_user_timeout": round(timeout_s * 1000),
    }
