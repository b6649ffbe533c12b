"""A map of a collection: its documents as points in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from semblance_client.vocabulary.fields import Scalar
from semblance_client.vocabulary.matching import DocumentMap, MapPoint, MapRequest

from semblance.models.adaptation.principal_axes import principal_axes
from semblance.models.embeddings import Doubles, Floats
from semblance.service.filters import EVERYTHING, Filter, scalars
from semblance.service.ports.document_store import DocumentReader
from semblance.service.ports.documents import Metadata, Version
from semblance.service.ports.indexes import DocumentSelection, IndexReader
from semblance.service.replication.access import CollectionAccess
from semblance.service.usecases.request_fields import requested_filter, requested_version

READ_DOCUMENTS = 16  # at a time: texts may be long
LABEL_CHARS = 200  # of a text

Label: TypeAlias = tuple[str, Scalar]  # beginning of the text, and value of the field


class MapDocuments:
    """Projects documents on the two directions in which their vectors differ most."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def draw(self, name: str, request: MapRequest) -> DocumentMap:
        """Map the matching documents, or an even sample of as many as the limit.

        The place of a document is that of the mean vector of its passages. The distance of two points is at most that
        of these vectors, so distant points differ, while near ones may differ, too. Documents that change meanwhile are
        left out.

        Raises:
            UnknownCollection, InvalidRequest, VersionMismatch, VersionNotReached: see semblance.service.errors.
        """
        where = requested_filter(request.filter)
        _, index = await self._access.current(name, requested_version(request.min_version))
        return await self._access.search(lambda store: _draw(store, index, name, request, where))


def _draw(
    store: DocumentReader, index: IndexReader, name: str, request: MapRequest, where: Filter | None
) -> DocumentMap:
    listed = index.select(DocumentSelection(where, len(index)))
    named = {"/field": request.field} if request.field else {}
    vectors = index.vectors(even_sample(listed.ids, request.limit))
    labels = _labels(store, name, request.field, list(vectors), listed.version)
    shown = [doc_id for doc_id in vectors if doc_id in labels]
    places, explained = _places([vectors[doc_id].mean(axis=0) for doc_id in shown])
    points = [
        MapPoint(id=doc_id, x=x, y=y, text=labels[doc_id][0], value=labels[doc_id][1])
        for doc_id, (x, y) in zip(shown, places.tolist(), strict=True)
    ]
    return DocumentMap(
        points=points,
        documents=len(listed.ids),
        explained=list(explained),
        version=str(listed.version),
        warnings=[*listed.warnings, *index.mismatches(EVERYTHING, named)],
    )


def even_sample(ids: Sequence[str], limit: int) -> Sequence[str]:
    """Up to `limit` ids, evenly spread.

    >>> even_sample("abcdefg", 3), even_sample("ab", 3)
    (['a', 'c', 'e'], 'ab')
    """
    if len(ids) <= limit:
        return ids
    return [ids[i * len(ids) // limit] for i in range(limit)]


def _labels(
    store: DocumentReader, name: str, field: str | None, ids: Sequence[str], version: Version
) -> dict[str, Label]:
    """The labels of the documents that have not changed since a version."""
    unchanged: dict[str, Label] = {}
    for start in range(0, len(ids), READ_DOCUMENTS):
        collection, found = store.get_at(name, ids[start : start + READ_DOCUMENTS])
        if collection.version.epoch != version.epoch:
            break
        for doc_id, each in found.items():
            if each.version <= version.number:
                unchanged[doc_id] = (each.text[:LABEL_CHARS], _value(each.metadata, field))
    return unchanged


def _value(metadata: Metadata, field: str | None) -> Scalar:
    """The value of a field, of a list the first entry; None without any."""
    found = [] if field is None else scalars(metadata.get(field))
    value = found[0] if found else None
    return value[:LABEL_CHARS] if isinstance(value, str) else value


def _places(vectors: Sequence[Floats]) -> tuple[Doubles, tuple[float, float]]:
    """(n, 2) places of n (d,) vectors, and the shares of their variance along both axes."""
    if not vectors:
        return np.zeros((0, 2)), (0.0, 0.0)
    stacked = np.stack(vectors).astype(np.float64)
    axes = principal_axes(stacked)
    shares = axes.variances[:2] / max(axes.variances.sum(), np.finfo(np.float64).tiny)
    return (stacked - axes.mean) @ axes.directions[:, :2], (float(shares[0]), float(shares[1]))
