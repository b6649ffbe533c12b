"""Where documents are: the part of the composition root that opens and closes stores, embedded or replicated."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy.exc import DatabaseError

from semblance.service.documents.contact import Contact
from semblance.service.documents.postgresql import Notifications, postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.model_loading.device import torch_device
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.device import Device
from semblance.service.process.readiness import Checks
from semblance.service.replication.access import HeldCollections
from semblance.service.replication.local_node import LocalCollections
from semblance.service.replication.primary import Patience, Truth
from semblance.service.replication.replica import Replica
from semblance.service.settings import Settings

log = logging.getLogger(__name__)


def _nothing_to_show(_: Metrics) -> None:
    """The documents are here."""


@dataclass(frozen=True, slots=True)
class Held:
    """The collections, what must and what should hold for them to be served, and what the metrics show of them."""

    collections: HeldCollections
    needed: Checks = field(default_factory=dict)
    wanted: Checks = field(default_factory=dict)
    show: Callable[[Metrics], None] = _nothing_to_show


def held_collections(settings: Settings, on_lost: Callable[[], None]) -> AbstractAsyncContextManager[Held]:
    """The collections of a deployment, caught up and followed for the time of the block.

    Where an index lies on a device, and that fails for good, `on_lost` is called.

    Raises StoreTooNew, NoSuchDevice, on entering it.
    """
    indexes = IndexFolder(settings.snapshot_folder, Device(partial(torch_device, settings), on_lost))
    return _replica(settings, indexes) if settings.database_url.get_secret_value() else _embedded(settings, indexes)


@asynccontextmanager
async def _embedded(settings: Settings, indexes: IndexFolder) -> AsyncIterator[Held]:
    store = SqlDocumentStore(sqlite_engine(settings.database_file))
    local = LocalCollections(store, indexes)
    try:
        await local.follow_all()
        async with _running(local.save_every(settings.snapshot_s)):
            yield Held(local)
    finally:
        local.close()


@asynccontextmanager
async def _replica(settings: Settings, indexes: IndexFolder) -> AsyncIterator[Held]:
    local, replica = await _started_replica(settings, indexes)
    try:
        async with _running(local.save_every(settings.snapshot_s)), _running(replica.keep_following()):
            yield Held(
                replica,
                needed={"caught_up": lambda: replica.complete, "keeps_up": lambda: replica.keeps_up},
                wanted={
                    "store_reachable": lambda: replica.reachable,
                    "collections": lambda: not replica.left_out,
                },
                show=lambda metrics: metrics.show_store(
                    reachable=replica.reachable,
                    seconds_since_contact=replica.seconds_since_contact,
                    left_out=replica.left_out,
                ),
            )
    finally:
        replica.close()
        local.close()


async def _started_replica(settings: Settings, indexes: IndexFolder) -> tuple[LocalCollections, Replica]:
    """A replica that has caught up; a copy that is damaged is begun anew from the truth."""
    copy = SqlDocumentStore(sqlite_engine(settings.copy_file))
    local = LocalCollections(copy, indexes)
    replica = Replica(_truth(settings), copy, local, settings.database_connections, _patience(settings))
    try:
        await replica.start()
    except BaseException as error:
        replica.close()
        local.close()
        if not _is_damage(error):
            raise
        log.warning("the copy in %s is damaged (%s) and is begun anew", settings.copy_file, error)
        for part in settings.copy_file.parent.glob(f"{settings.copy_file.name}*"):
            part.unlink()
        return await _started_replica(settings, indexes)
    return local, replica


def _is_damage(error: BaseException) -> bool:
    """Whether a file is no database, or a broken one; not that it is locked, or its disk full."""
    code = getattr(error.orig, "sqlite_errorcode", 0) if isinstance(error, DatabaseError) else 0
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _truth(settings: Settings) -> Truth:
    url = settings.database_url.get_secret_value()
    contact = Contact(settings.database_timeout_s)
    engine = postgresql_engine(url, settings.database_connections + 1, settings.database_timeout_s)  # 1 follows
    return Truth(SqlDocumentStore(engine, contact), contact, Notifications(url, settings.database_timeout_s))


def _patience(settings: Settings) -> Patience:
    return Patience(
        writes_s=settings.database_timeout_s,
        poll_s=settings.poll_s,
        version_s=settings.min_version_wait_s,
        behind_s=settings.ready_lag_s,
    )


@asynccontextmanager
async def _running(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Have something done beside the block, until its end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
