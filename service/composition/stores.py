"""Open and close the document stores of a service, embedded or replicated, and of commands."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Engine
from sqlalchemy.exc import DatabaseError

from semblance.service.documents.database import DatabaseHealth
from semblance.service.documents.lock import lock_home
from semblance.service.documents.postgresql import Notifications, postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import NoStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.model_loading.device import torch_device
from semblance.service.observability import Metrics
from semblance.service.ports.device import Device
from semblance.service.process.readiness import Checks
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.primary import Primary, Timeouts
from semblance.service.replication.replica import Replica
from semblance.service.settings import Settings

log = logging.getLogger(__name__)


def _no_metrics(_: Metrics) -> None:
    """An embedded store has no metrics."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Access to the collections, with the readiness checks and metrics of their stores."""

    collections: CollectionAccess
    required: Checks = field(default_factory=dict)
    optional: Checks = field(default_factory=dict)
    show: Callable[[Metrics], None] = _no_metrics


def open_stores(settings: Settings, on_lost: Callable[[], None]) -> AbstractAsyncContextManager[Stores]:
    """Open the stores of a service and keep them up to date for the time of the block.

    `on_lost` is called if the device of an index fails.

    Raises StoreTooNew, NoSuchDevice, on entering it.
    """
    indexes = IndexFolder(settings.snapshot_folder, Device(partial(torch_device, settings), on_lost))
    return _replica(settings, indexes) if settings.database_url.get_secret_value() else _embedded(settings, indexes)


@asynccontextmanager
async def _embedded(settings: Settings, indexes: IndexFolder) -> AsyncIterator[Stores]:
    local = LocalNode(SqlDocumentStore(sqlite_engine(settings.database_file)), indexes)
    try:
        await local.refresh_indexes()
        async with _running(local.save_every(settings.snapshot_s)):
            yield Stores(local)
    finally:
        local.close()


@asynccontextmanager
async def _replica(settings: Settings, indexes: IndexFolder) -> AsyncIterator[Stores]:
    local, replica = await _started_replica(settings, indexes)
    try:
        async with _running(local.save_every(settings.snapshot_s)), _running(replica.keep_following()):
            yield Stores(
                replica,
                required={"caught_up": lambda: replica.complete, "keeps_up": lambda: replica.keeps_up},
                optional={
                    "store_reachable": lambda: replica.reachable,
                    "collections": lambda: not replica.failed_copies,
                },
                show=lambda metrics: metrics.set_store(
                    reachable=replica.reachable,
                    seconds_since_contact=replica.seconds_since_contact,
                    left_out=replica.failed_copies,
                ),
            )
    finally:
        replica.close()
        local.close()


async def _started_replica(settings: Settings, indexes: IndexFolder) -> tuple[LocalNode, Replica]:
    """Start a replica and wait until it has caught up; a damaged copy is deleted and made again."""
    copy = SqlDocumentStore(sqlite_engine(settings.copy_file))
    local = LocalNode(copy, indexes)
    timeouts = Timeouts(
        write_s=settings.database_timeout_s,
        poll_s=settings.poll_s,
        version_s=settings.min_version_wait_s,
        lag_s=settings.ready_lag_s,
    )
    replica = Replica(_primary(settings), copy, local, settings.database_connections, timeouts)
    try:
        await replica.start()
    except BaseException as error:
        replica.close()
        local.close()
        if not _is_damage(error):
            raise
        log.warning("the copy in %s is damaged (%s); copying the primary again", settings.copy_file, error)
        for part in settings.copy_file.parent.glob(f"{settings.copy_file.name}*"):
            part.unlink()
        return await _started_replica(settings, indexes)
    return local, replica


def _is_damage(error: BaseException) -> bool:
    """Whether a file is no database, or a damaged one; a lock or a full disk is no damage."""
    code = getattr(error.orig, "sqlite_errorcode", 0) if isinstance(error, DatabaseError) else 0
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _primary(settings: Settings) -> Primary:
    url = settings.database_url.get_secret_value()
    health = DatabaseHealth(settings.database_timeout_s)
    engine = postgresql_engine(url, settings.database_connections + 1, settings.database_timeout_s)  # 1 for the copier
    return Primary(SqlDocumentStore(engine, health), health, Notifications(url, settings.database_timeout_s))


@asynccontextmanager
async def _running(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run a background task for the time of the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()


@contextmanager
def open_embedded_store(settings: Settings) -> Iterator[tuple[SqlDocumentStore, IndexFolder]]:
    """Open the documents of a stopped service, and the folder of its index snapshots.

    Raises:
        NoStore: there are none.
        StoreInUse: a service is running on them.
    """
    _require_documents(settings)
    with lock_home(settings.home), closing(SqlDocumentStore(sqlite_engine(settings.database_file))) as store:
        yield store, IndexFolder(settings.snapshot_folder, Device(partial(torch_device, settings)))


@contextmanager
def primary_to_read(settings: Settings) -> Iterator[SqlDocumentStore]:
    """Open the documents for reading, also while a service runs: readers block no writer.

    Raises:
        NoStore: there are none.
        StoreUnavailable: the database does not answer.
    """
    if not settings.database_url.get_secret_value():
        _require_documents(settings)
    with closing(SqlDocumentStore(_engine(settings))) as store:
        yield store


@contextmanager
def primary_to_replace(settings: Settings) -> Iterator[SqlDocumentStore]:
    """Open the documents for replacement; an embedded store only while no service runs.

    Raises:
        StoreInUse: a service is running on the embedded store.
        StoreUnavailable: the database does not answer.
    """
    with ExitStack() as stack:
        if not settings.database_url.get_secret_value():
            stack.enter_context(lock_home(settings.home))
        yield stack.enter_context(closing(SqlDocumentStore(_engine(settings))))


def _require_documents(settings: Settings) -> None:
    if not settings.database_file.is_file():
        raise NoStore(f"there are no documents in {settings.database_file.parent}; set their folder with --home")


def _engine(settings: Settings) -> Engine:
    if url := settings.database_url.get_secret_value():
        return postgresql_engine(url, settings.database_connections, settings.database_timeout_s)
    return sqlite_engine(settings.database_file)
