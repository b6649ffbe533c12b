"""A map of a collection: its documents as points in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from semblance.models.adaptation.principal_axes import principal_axes
from semblance.models.embeddings import Doubles, Floats
from semblance.service.filters import Filter, Scalar, scalars
from semblance.service.ports.documents import DocumentStore, Metadata, Version
from semblance.service.ports.indexes import DocumentSelection, VectorIndex
from semblance.service.replication.access import CollectionAccess
from semblance.service.request_warnings import RequestWarning

READ_DOCUMENTS = 16  # at a time: texts may be long
LABEL_CHARS = 200  # of a text

Label: TypeAlias = tuple[str, Scalar]  # beginning of the text, and value of the field


@dataclass(frozen=True, slots=True)
class MapParams:
    """What to map.

    Attributes:
        collection: its name.
        where: only the documents that match.
        field: of the metadata, whose value each point gets.
        limit: most points.
        min_version: map this version of the collection or a later one.
    """

    collection: str
    where: Filter | None
    field: str | None
    limit: int
    min_version: Version | None


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A document, the beginning of its text, the value of its field, and its place."""

    id: str
    text: str
    value: Scalar
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class DocumentMap:
    """Points of some or all of the matching documents.

    Attributes:
        version: of the collection.
        documents: number of matching documents.
        points: in the order of their ids.
        explained: shares of the variance of the vectors along x and y.
        warnings: of the filter.
    """

    version: Version
    documents: int
    points: Sequence[MapPoint]
    explained: tuple[float, float]
    warnings: Sequence[RequestWarning]


class MapDocuments:
    """Projects documents on the two directions in which their vectors differ most."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def __call__(self, params: MapParams) -> DocumentMap:
        """Map the matching documents, or an even sample of as many as the limit.

        The place of a document is that of the mean vector of its passages. The distance of two points is at most that
        of these vectors, so distant points differ, while near ones may differ, too. Documents that change meanwhile are
        left out.

        Raises:
            UnknownCollection, VersionMismatch, VersionNotReached: see semblance.service.errors.
        """
        _, index = await self._access.current(params.collection, params.min_version)
        return await self._access.search(lambda store: _draw(store, index, params))


def _draw(store: DocumentStore, index: VectorIndex, params: MapParams) -> DocumentMap:
    listed = index.select(DocumentSelection(params.where, len(index)))
    vectors = index.vectors(even_sample(listed.ids, params.limit))
    labels = _labels(store, params, list(vectors), listed.version)
    shown = [doc_id for doc_id in vectors if doc_id in labels]
    places, explained = _places([vectors[doc_id].mean(axis=0) for doc_id in shown])
    points = [MapPoint(doc_id, *labels[doc_id], x, y) for doc_id, (x, y) in zip(shown, places.tolist(), strict=True)]
    return DocumentMap(listed.version, len(listed.ids), points, explained, listed.warnings)


def even_sample(ids: Sequence[str], limit: int) -> Sequence[str]:
    """Up to `limit` ids, evenly spread.

    >>> even_sample("abcdefg", 3), even_sample("ab", 3)
    (['a', 'c', 'e'], 'ab')
    """
    if len(ids) <= limit:
        return ids
    return [ids[i * len(ids) // limit] for i in range(limit)]


def _labels(store: DocumentStore, params: MapParams, ids: Sequence[str], version: Version) -> dict[str, Label]:
    """The labels of the documents that have not changed since a version."""
    unchanged: dict[str, Label] = {}
    for start in range(0, len(ids), READ_DOCUMENTS):
        collection, found = store.get_at(params.collection, ids[start : start + READ_DOCUMENTS])
        if collection.version.epoch != version.epoch:
            break
        for doc_id, each in found.items():
            if each.version <= version.number:
                unchanged[doc_id] = (each.text[:LABEL_CHARS], _value(each.metadata, params.field))
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
