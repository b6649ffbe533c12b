"""Everything in a store copied into another, and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from semblance.service.errors import UnknownCollection
from semblance.service.ports.documents import NOTHING_YET, Collection, CopyStore, DocumentStore, Life, WholeChange
from semblance.service.replication import change_feed
from semblance.service.replication.copier import PlainHand, TakeOver


def back_up(store: DocumentStore, copy: CopyStore, advance: Callable[[int], None]) -> None:
    """Bring an empty copy up to the store, which may be written to meanwhile.

    Each collection in the copy is as the store had it at one version. `advance` is told of documents copied.
    """
    take_over = TakeOver(store, copy, PlainHand(copy), on_put=advance)
    for collection in store.collections():
        _copy_settled(store, copy, take_over, collection.name)


def restore(backup: DocumentStore, store: DocumentStore, advance: Callable[[int], None]) -> None:
    """Replace everything in the store by what a backup holds, all or nothing; each collection begins a new life."""
    store.replace_all(Life(each, _pages(backup, each.name, advance)) for each in backup.collections())


def _copy_settled(store: DocumentStore, copy: CopyStore, take_over: TakeOver, name: str) -> None:
    """Take over until no roll-over began or ended meanwhile: that is no document, which the changes would tell of."""
    before = _found(store, name)
    while True:
        take_over(name)
        after = _found(store, name)
        if _encoders(after) == _encoders(before):
            break
        before = after
    if after is not None:
        copy.take_rollover(name, after.rollover)  # forgets what others made that came and went during the copy


def _found(store: DocumentStore, name: str) -> Collection | None:
    try:
        return store.collection(name)
    except UnknownCollection:
        return None


def _encoders(collection: Collection | None) -> object:
    """What fills a life of a collection."""
    return collection and (collection.version.epoch, collection.settings.space, collection.rollover)


def _pages(backup: DocumentStore, name: str, advance: Callable[[int], None]) -> Iterator[Sequence[WholeChange]]:
    cursor = None
    while True:
        page = backup.whole_changes_since(name, NOTHING_YET, cursor, change_feed.PAGE)
        yield page.changes
        advance(len(page.changes))
        cursor = page.cursor
        if cursor is None:
            return
