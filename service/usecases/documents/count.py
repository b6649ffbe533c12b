"""Count the documents of a collection that match a filter, and the values of their metadata."""

from __future__ import annotations

from semblance_client.vocabulary.matching import Counted, CountRequest

from semblance.service.replication.access import CollectionAccess
from semblance.service.usecases.request_fields import requested_filter, requested_version
from semblance.service.usecases.search.results import facets_response


class CountDocuments:
    """Counts by the index, without reading documents."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def count(self, name: str, request: CountRequest) -> Counted:
        """Count documents, with the most frequent values of some fields.

        Raises:
            UnknownCollection, InvalidRequest, VersionMismatch, VersionNotReached: see semblance.service.errors.
        """
        where, facets = requested_filter(request.filter), {facet.field: facet.values for facet in request.facets}
        _, index = await self._access.current(name, requested_version(request.min_version))
        counted = await self._access.search(lambda _: index.count(where, facets))
        return Counted(
            count=counted.documents,
            facets=facets_response(counted.facets),
            version=str(counted.version),
            warnings=counted.warnings,
        )
