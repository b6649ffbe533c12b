"""Embeddings in this process, the least recently used forgotten first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cachetools import LRUCache

from semblance.models.embeddings import TokenEmbeddings
from semblance.service.ports.embedding import Miss

ENTRY_BYTES = 1024  # what an entry costs beside its arrays: its key, its text, Python objects


class MemoryCache:
    """At most `max_bytes` of embeddings. A text too large for the whole cache is not kept."""

    def __init__(self, max_bytes: int) -> None:
        self._entries: LRUCache[str, TokenEmbeddings] = LRUCache(max_bytes, lambda entry: entry.nbytes + ENTRY_BYTES)

    async def get_many(self, keys: Sequence[str]) -> list[TokenEmbeddings | Miss]:
        """What is known of each key."""
        return [self._entries.get(key, "absent") for key in keys]

    async def set_many(self, entries: Mapping[str, TokenEmbeddings]) -> None:
        """Remember these."""
        for key, entry in entries.items():
            if entry.nbytes + ENTRY_BYTES <= self._entries.maxsize:
                self._entries[key] = entry

    async def ping(self) -> bool:
        """Always there."""
        return True

    async def close(self) -> None:
        """Forget everything."""
        self._entries.clear()
