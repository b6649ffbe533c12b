"""Connections that PostgreSQL refuses for good, or that its absence refuses, and several servers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from semblance.service.documents.database import DatabaseHealth
from semblance.service.documents.databases.postgresql import Notifications, postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import StoreUnavailable
from tests.support.running_service import reserved_port

pytestmark = pytest.mark.slow

LIMIT_S = 60.0  # that no connection reaches


def failure(url: str) -> StoreUnavailable:
    """The failure of a store at `url`."""
    with (
        closing(SqlDocumentStore(postgresql_engine(url, 1, LIMIT_S), DatabaseHealth(LIMIT_S))) as store,
        pytest.raises(StoreUnavailable) as refused,
    ):
        store.collections()
    return refused.value


@pytest.mark.parametrize(
    ("spoil", "refusal"),
    [
        (lambda url: url + "2", "does not exist"),
        (lambda url: url.replace("@", "x@"), "password authentication failed"),
        (lambda url: url + "?sslmode=require", "does not support SSL"),
        (lambda url: f"{url.rpartition(':')[0]}:{reserved_port()}/none", ""),
        (lambda _: "postgresql://me@nowhere.invalid/none", ""),
    ],
)
def test_only_what_lasts_is_a_refusal(postgres: str, spoil: Callable[[str], str], refusal: str) -> None:
    refused = failure(spoil(postgres))
    assert refusal in refused.refusal
    assert bool(refusal) == bool(refused.refusal)
    assert str(refused) == "the database does not answer, or not in time: try again", "clients learn no address"


def test_the_first_of_several_servers_that_answers_is_used(postgres: str) -> None:
    head, _, live = postgres.rpartition("@")
    url = f"{head}@127.0.0.1:{reserved_port()},{live}?target_session_attrs=read-write"
    with closing(SqlDocumentStore(postgresql_engine(url, 1, LIMIT_S), DatabaseHealth(LIMIT_S))) as store:
        assert store.collections() == []
    with closing(Notifications(url, LIMIT_S)) as notices:
        notices.wait(LIMIT_S, threading.Event())
    unknown = url.replace("?", "2?")
    assert failure(unknown).refusal == "", "the server that is away may be the one with the database"
