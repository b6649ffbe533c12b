"""The store without a model: the composition root of commands that need not wait until one is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from semblance.service.documents.lock import hold
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import NoStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.model_loading.device import torch_device
from semblance.service.ports.device import Device
from semblance.service.settings import Settings


@contextmanager
def embedded_store(settings: Settings) -> Iterator[tuple[SqlDocumentStore, IndexFolder]]:
    """The documents of a service that does not run, and where the snapshots of its indexes lie.

    Raises:
        NoStore: there are none.
        StoreInUse: a service runs on them.
    """
    if not settings.database_file.is_file():
        raise NoStore(f"there are no documents in {settings.database_file.parent}: name their folder with --home")
    with hold(settings.home):
        store = SqlDocumentStore(sqlite_engine(settings.database_file))
        try:
            yield store, IndexFolder(settings.snapshot_folder, Device(partial(torch_device, settings)))
        finally:
            store.close()
