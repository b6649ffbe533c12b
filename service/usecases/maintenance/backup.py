"""Copy a whole store, and restore it from a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from semblance.service.errors import UnknownCollection
from semblance.service.ports.document_store import CopyStore, DocumentStore, MaintainedStore
from semblance.service.ports.documents import (
    INCOMPLETE_VERSION,
    Collection,
    CollectionContents,
    DocumentChange,
    Version,
)
from semblance.service.replication.change_feed import read_pages
from semblance.service.replication.copier import Copier, DirectWriter


def back_up(store: DocumentStore, copy: CopyStore, advance: Callable[[int], None]) -> None:
    """Bring an empty copy up to a store, during writes to it.

    Each collection of the copy is a consistent state at one version. Aliases lead where they led at the start.

    Args:
        store: the source.
        copy: an empty store.
        advance: progress callback: receives the number of documents of each page.
    """
    copier = Copier(store, copy, DirectWriter(), on_page=advance)
    collections, aliases = store.collections_and_aliases()
    for collection in collections:
        _copy_settled(store, copy, copier, collection.name)
    copy.replace_aliases(aliases)


def restore(backup: DocumentStore, store: MaintainedStore, advance: Callable[[int], None]) -> None:
    """Replace all collections and aliases by those of a backup, all or nothing, with new epochs."""
    contents = (
        CollectionContents(collection, _pages(backup, collection, advance)) for collection in backup.collections()
    )
    store.replace_all(contents, backup.aliases())


def _copy_settled(store: DocumentStore, copy: CopyStore, copier: Copier, name: str) -> None:
    """Copy until no re-embedding begins or ends during it: the change feed does not show these."""
    before = _find(store, name)
    while True:
        copier(name)
        after = _find(store, name)
        if _encoders(after) == _encoders(before):
            break
        before = after
    if after is not None:
        copy.set_reembedding(
            name, after.reembedding
        )  # deletes embeddings by encoders that came and went during the copy


def _find(store: DocumentStore, name: str) -> Collection | None:
    try:
        return store.collection(name)
    except UnknownCollection:
        return None


def _encoders(collection: Collection | None) -> object:
    """Epoch and encoders of a collection, for comparison."""
    return collection and (collection.version.epoch, collection.settings.generation, collection.reembedding)


def _pages(
    backup: DocumentStore, collection: Collection, advance: Callable[[int], None]
) -> Iterator[Sequence[DocumentChange]]:
    start = Version(collection.version.epoch, INCOMPLETE_VERSION)
    for page in read_pages(partial(backup.document_changes, collection.name), start):
        yield page.changes
        advance(len(page.changes))
