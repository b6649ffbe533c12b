"""Cache embeddings in this process, with eviction of the least recently used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cachetools import LRUCache

from semblance.models.embeddings import TokenEmbeddings
from semblance.service.ports.embedding import Miss

ENTRY_BYTES = 1024  # memory of an entry beside its arrays: key, text, Python objects


class MemoryCache:
    """Stores at most `max_bytes` of embeddings, and none larger than that: 0 disables it."""

    def __init__(self, max_bytes: int) -> None:
        self._entries: LRUCache[str, TokenEmbeddings] = LRUCache(max_bytes, lambda entry: entry.nbytes + ENTRY_BYTES)

    async def get_many(self, keys: Sequence[str]) -> list[TokenEmbeddings | Miss]:
        """Embeddings by key, or "absent"."""
        return [self._entries.get(key, "absent") for key in keys]

    async def set_many(self, entries: Mapping[str, TokenEmbeddings]) -> None:
        """Store embeddings, unless they exceed the whole cache."""
        for key, entry in entries.items():
            if entry.nbytes + ENTRY_BYTES <= self._entries.maxsize:
                self._entries[key] = entry

    async def ping(self) -> bool:
        """True: a cache in memory is always available."""
        return True

    async def close(self) -> None:
        """Remove all entries."""
        self._entries.clear()
