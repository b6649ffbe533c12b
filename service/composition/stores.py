"""Open and close the document stores of a service, embedded or replicated, and of commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Set
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shlex import quote

from sqlalchemy import Engine

from semblance.models.errors import MissingExtra
from semblance.service.documents.database import DatabaseHealth
from semblance.service.documents.databases.disk_reserve import DiskReserve
from semblance.service.documents.databases.lock import lock_home
from semblance.service.documents.databases.sqlite import has_tables, sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import NoStore, StoreDamaged, StoreFailed, StoreInUse, StoreMissing
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.indexes.remote.milvus_address import MilvusAddress
from semblance.service.model_loading.device import cores, torch_device
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.device import Device
from semblance.service.ports.document_store import CopyStore
from semblance.service.process.readiness import Checks
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.primary import Primary, Timeouts
from semblance.service.replication.replica import Replica, running
from semblance.service.replication.stateless.stateless_replica import StatelessReplica
from semblance.service.settings import Settings


def _no_metrics(_: Metrics) -> None:
    """An embedded store has no metrics."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Access to the collections, with the readiness checks and metrics of their stores.

    `failed` names the collections that could not be copied.
    """

    collections: CollectionAccess
    required: Checks = field(default_factory=dict)
    optional: Checks = field(default_factory=dict)
    show: Callable[[Metrics], None] = _no_metrics
    failed: Callable[[], Set[str]] = frozenset


def open_stores(settings: Settings, on_lost: Callable[[], None]) -> AbstractAsyncContextManager[Stores]:
    """Open the stores of a service and keep them up to date for the time of the block.

    `on_lost` is called if the device of an index fails.

    Raises StoreTooNew, StoreMissing, StoreDamaged, StoreFailed, NoSuchDevice, MissingExtra, on entering it.
    """
    indexes = IndexFolder(settings.snapshot_folder, Device(partial(torch_device, settings), on_lost, cores(settings)))
    if settings.index_url.get_secret_value():
        return _stateless_replica(settings)
    return _replica(settings, indexes) if settings.database_url.get_secret_value() else _embedded(settings, indexes)


@asynccontextmanager
async def _embedded(settings: Settings, indexes: IndexFolder) -> AsyncIterator[Stores]:
    if not (indexes.empty or has_tables(settings.database_file)):
        raise StoreMissing(_without_documents(settings))
    file = settings.database_file
    store = SqlDocumentStore(sqlite_engine(file), reserve=DiskReserve(file.with_name("reserve")))
    local = LocalNode(store, indexes)
    try:
        with _naming_file(settings):
            await local.refresh_indexes()
        async with running(local.save_every(settings.snapshot_s)):
            yield Stores(local, optional={"store_writable": lambda: store.writable})
    finally:
        local.close()


def _without_documents(settings: Settings) -> str:
    file, folder = settings.database_file, settings.snapshot_folder
    return (
        f"{file} is {'empty' if file.exists() else 'missing'}, but {folder} has the indexes of its documents: put the "
        f"file back, or restore a backup ({_restore(settings)}); to begin without documents, remove the indexes "
        f"(rm -r {quote(str(folder))})"
    )


def _restore(settings: Settings) -> str:
    return f"semblance restore FOLDER --home {quote(str(settings.database_file.parent))}"


@contextmanager
def _naming_file(settings: Settings) -> Iterator[None]:
    """Name the file in errors that it causes, and what to do."""
    file = settings.database_file
    try:
        yield
    except StoreDamaged as error:
        raise StoreDamaged(
            f"{file}: {error}; move {file}* to another folder, then restore a backup ({_restore(settings)})"
        ) from error
    except StoreFailed as error:
        raise StoreFailed(f"{file}: {error}; let this user read and write it, or check the disk") from error


@asynccontextmanager
async def _replica(settings: Settings, indexes: IndexFolder) -> AsyncIterator[Stores]:
    replica = Replica(
        _primary(settings, settings.database_connections)[0],
        partial(_open_copy, settings, indexes),
        partial(_discard_copy, settings.copy_file),
        settings.snapshot_s,
    )
    async with replica.running():
        yield _replicated(
            replica,
            required={"caught_up": lambda: replica.complete, "keeps_up": lambda: replica.keeps_up},
            optional={"store_reachable": lambda: replica.primary.reachable},
        )


def _open_copy(settings: Settings, indexes: IndexFolder, on_damage: Callable[[], None]) -> tuple[CopyStore, LocalNode]:
    copy = SqlDocumentStore(sqlite_engine(settings.copy_file), on_damage=on_damage)
    return copy, LocalNode(copy, indexes)


@asynccontextmanager
async def _stateless_replica(settings: Settings) -> AsyncIterator[Stores]:
    replica = _open_stateless_replica(settings)
    try:
        await replica.start()
        async with running(replica.keep_following()):
            yield _replicated(
                replica,
                required={"store_reachable": lambda: replica.primary.reachable},
                optional={"index_reachable": lambda: replica.index_reachable},
            )
    finally:
        await asyncio.to_thread(replica.close)


def _open_stateless_replica(settings: Settings) -> StatelessReplica:
    from semblance.service.documents.databases.index_marks import LockedMarks, StoredMarks  # noqa: PLC0415 - slow

    try:
        from semblance.service.indexes.remote.milvus_index import MilvusIndex  # noqa: PLC0415 - an extra, and slow
    except ModuleNotFoundError as error:
        raise MissingExtra("SEMBLANCE_INDEX_URL", "pymilvus", "milvus") from error
    index = MilvusIndex(MilvusAddress.parse(settings.index_url.get_secret_value()), settings.database_timeout_s)
    primary, engine, health = _primary(settings, 2 * settings.database_connections)
    marks, leadership = StoredMarks(engine, health), LockedMarks(engine)
    return StatelessReplica(primary, marks, leadership, index, settings.database_connections)


def _replicated(replica: Replica | StatelessReplica, required: Checks, optional: Checks) -> Stores:
    """A replica with its checks, those that any replica has, and its metrics."""
    return Stores(
        replica,
        required=required,
        optional={
            **optional,
            "store_writable": lambda: replica.primary.writable,
        },
        failed=lambda: replica.failed_collections,
        show=lambda metrics: metrics.set_store(
            reachable=replica.primary.reachable,
            seconds_since_contact=replica.primary.seconds_since_contact,
        ),
    )


def _timeouts(settings: Settings) -> Timeouts:
    return Timeouts(
        write_s=settings.database_timeout_s,
        poll_s=settings.poll_s,
        version_s=settings.min_version_wait_s,
        lag_s=settings.ready_lag_s,
    )


def _discard_copy(file: Path) -> None:
    for part in file.parent.glob(f"{file.name}*"):  # with its write-ahead log
        part.unlink()


def _primary(settings: Settings, connections: int) -> tuple[Primary, Engine, DatabaseHealth]:
    """The primary and its engine, with one connection more, for the thread that follows it."""
    from semblance.service.documents.databases.postgresql import Notifications, postgresql_engine  # noqa: PLC0415 - slow

    url = settings.database_url.get_secret_value()
    health = DatabaseHealth(settings.database_timeout_s)
    engine = postgresql_engine(url, connections + 1, settings.database_timeout_s)
    notices = Notifications(url, settings.database_timeout_s)
    threads = settings.database_connections
    return Primary(SqlDocumentStore(engine, health), health, notices, threads, _timeouts(settings)), engine, health


@contextmanager
def _stopped(home: Path) -> Iterator[None]:
    """Lock a home whose service must be stopped. Raises StoreInUse."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_home(home))
        except StoreInUse as error:
            raise StoreInUse(f"{str(error).rpartition('; ')[0]}; stop it first") from error
        yield


@contextmanager
def open_embedded_store(settings: Settings) -> Iterator[tuple[SqlDocumentStore, IndexFolder]]:
    """Open the documents of a stopped service, and the folder of its index snapshots.

    Raises:
        NoStore: there are none.
        StoreInUse: a service is running on them.
    """
    require_documents(settings)
    with _stopped(settings.home), closing(SqlDocumentStore(sqlite_engine(settings.database_file))) as store:
        yield store, IndexFolder(settings.snapshot_folder, Device(partial(torch_device, settings)))


@contextmanager
def primary_to_read(settings: Settings) -> Iterator[SqlDocumentStore]:
    """Open the documents for reading, also while a service runs: readers block no writer.

    Raises:
        NoStore: there are none.
        StoreUnavailable: the database is unreachable.
    """
    if not settings.database_url.get_secret_value():
        require_documents(settings)
    with closing(SqlDocumentStore(_engine(settings))) as store:
        yield store


@contextmanager
def primary_to_replace(settings: Settings) -> Iterator[SqlDocumentStore]:
    """Open the documents for replacement; an embedded store only while no service runs.

    Raises:
        StoreInUse: a service is running on the embedded store.
        StoreDamaged: the embedded store cannot be read.
        StoreUnavailable: the database is unreachable.
    """
    with ExitStack() as stack:
        if not settings.database_url.get_secret_value():
            stack.enter_context(_stopped(settings.home))
            stack.enter_context(_naming_file(settings))
        yield stack.enter_context(closing(SqlDocumentStore(_engine(settings))))


def require_documents(settings: Settings) -> None:
    """Check that the home has a document store. Raises NoStore, StoreFailed."""
    folder = settings.database_file.parent
    try:
        found = has_tables(settings.database_file)
    except OSError as error:
        raise StoreFailed(
            f"{folder} cannot be read ({error.strerror}): let this user read it, or set another folder with --home"
        ) from error
    if settings.copy_file.is_file() and not found:
        raise NoStore(
            f"{folder} has a replica's copy of what PostgreSQL stores: to check that, make a backup with "
            "SEMBLANCE_DATABASE_URL, and restore it without the variable into another --home"
        )
    if not found:
        raise NoStore(f"there are no documents in {folder}; set their folder with --home")


def _engine(settings: Settings) -> Engine:
    if url := settings.database_url.get_secret_value():
        from semblance.service.documents.databases.postgresql import postgresql_engine  # noqa: PLC0415 - slow

        return postgresql_engine(url, settings.database_connections, settings.database_timeout_s)
    return sqlite_engine(settings.database_file)
