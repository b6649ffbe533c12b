"""Count the documents of a collection that match a filter, and the values of their metadata."""

from __future__ import annotations

from collections.abc import Mapping

from semblance.service.filters import Filter
from semblance.service.ports.documents import Version
from semblance.service.ports.indexes import Counted
from semblance.service.replication.access import CollectionAccess


class CountDocuments:
    """Counts by the index, without reading documents."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def __call__(
        self, name: str, where: Filter | None, facets: Mapping[str, int], min_version: Version | None
    ) -> Counted:
        """Count documents, with the most frequent values of some fields, as many as `facets` says.

        Raises:
            UnknownCollection, VersionMismatch, VersionNotReached: see semblance.service.errors.
        """
        _, index = await self._access.current(name, min_version)
        return await self._access.search(lambda _: index.count(where, facets))
