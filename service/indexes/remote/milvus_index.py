"""Vectors of passages in Milvus, over its network protocol."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import grpc
import numpy as np
from pymilvus import DataType, MilvusClient, MilvusException

from semblance.models.embeddings import Floats
from semblance.service.errors import IndexUnavailable
from semblance.service.filters import Filter
from semblance.service.indexes.remote.metadata_terms import MAX_TERMS, MetadataTerms, expression
from semblance.service.indexes.remote.milvus_address import MilvusAddress
from semblance.service.ports.documents import VectorChange, Version
from semblance.service.ports.remote_index import MAX_CANDIDATES, RemoteCandidate, RemoteCollection

log = logging.getLogger(__name__)

MARKER = "marker"  # primary key of the row that has the position
MARKER_VERSION = -1  # `ver` of that row; of no document
ROWS_PER_CALL = 256  # written at a time; each may have tens of kilobytes
MAX_ID_BYTES = 4 * 256  # of a document's id of 256 characters
ANSWERS = (100, 101)  # codes of errors of a collection that is missing, or not loaded
EXAMINED, EXAMINED_FILTERED = 256, 1024  # rows of a graph that a search examines at least; ignored without a graph
RARE = 256  # a filter by which a graph finds fewer rows is rare
FOUND = ["id", "ver"]  # fields of a candidate
STRONG = "Strong"  # a search sees what was written before it began; a version that is answered depends on it

Result = TypeVar("Result")

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs every failed call with its traceback, texts included


class MilvusIndex:
    """`RemoteIndex` in a Milvus server.

    A row is a passage, under a primary key of its document, its version and its number, so that writes of a former
    leader, however late, replace no newer row. A further row has the position.

    Args:
        address: of the server, with the database.
        timeout_s: of each call.
    """

    def __init__(self, address: MilvusAddress, timeout_s: float) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._client: MilvusClient | None = None
        self._lock = threading.Lock()
        self._reachable = True
        self._failing = False  # whether the last call failed, which is logged once

    @property
    def reachable(self) -> bool:
        """Whether the last call succeeded."""
        return self._reachable

    def ping(self) -> None:
        """Ask the server for its version."""
        self._call(lambda client: client.get_server_version(timeout=self._timeout_s))

    def create(self, target: RemoteCollection) -> None:
        """Create a collection without vectors, in place of an existing one."""
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=128)
        schema.add_field("doc", DataType.VARCHAR, max_length=64)
        schema.add_field("id", DataType.VARCHAR, max_length=MAX_ID_BYTES)
        schema.add_field("ver", DataType.INT64)
        schema.add_field("note", DataType.VARCHAR, max_length=256)
        schema.add_field("terms", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=MAX_TERMS, max_length=64)
        schema.add_field("ranges", DataType.JSON)
        schema.add_field("overflow", DataType.BOOL)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=target.dim)
        indexes = MilvusClient.prepare_index_params()
        indexes.add_index("vector", index_type="FLAT" if target.exhaustive else "AUTOINDEX", metric_type="IP")
        indexes.add_index("doc", index_type="INVERTED")

        def create(client: MilvusClient) -> None:
            client.drop_collection(target.key, timeout=self._timeout_s)
            client.create_collection(
                target.key,
                schema=schema,
                index_params=indexes,
                consistency_level=STRONG,
                timeout=self._timeout_s,
            )
            self._index_terms(client, target.key)

        self._call(create)

    def drop(self, key: str) -> None:
        """Delete a collection, if it exists."""
        self._call(lambda client: client.drop_collection(key, timeout=self._timeout_s))

    def apply(self, target: RemoteCollection, changes: Sequence[VectorChange], *, new_until: int = -1) -> None:
        """Replace the rows of some documents, without touching rows of later versions."""
        newest = max((change.version for change in changes), default=0)
        docs = [_digest(change.id) for change in changes if change.version > new_until]
        rows = [row for change in changes for row in rows_of(change)]

        def write(client: MilvusClient) -> None:
            for start in range(0, len(docs), ROWS_PER_CALL):
                some = ", ".join(f'"{doc}"' for doc in docs[start : start + ROWS_PER_CALL])
                client.delete(target.key, filter=f"doc in [{some}] and ver <= {newest}", timeout=self._timeout_s)
            for start in range(0, len(rows), ROWS_PER_CALL):
                client.upsert(target.key, rows[start : start + ROWS_PER_CALL], timeout=self._timeout_s)

        if docs or rows:  # otherwise nothing is sent, which would show a server that is away as reachable
            self._call(write)

    def advance(self, target: RemoteCollection, version: Version) -> None:
        """Record beside the vectors that every change up to `version` was applied."""
        nowhere = np.zeros(target.dim, np.float32)
        row = _row(MARKER, MARKER, "", MARKER_VERSION, MetadataTerms.of({}), nowhere) | {"note": str(version)}
        self._call(lambda client: client.upsert(target.key, [row], timeout=self._timeout_s))

    def position(self, target: RemoteCollection) -> Version | None:
        """The version that was recorded last; None if the collection or its record is missing."""

        def read(client: MilvusClient) -> list[dict[str, Any]]:
            if not client.has_collection(target.key, timeout=self._timeout_s):
                return []
            client.load_collection(target.key, timeout=self._timeout_s)  # a server may have restarted without
            return list(self._query(client, target.key, f'pk == "{MARKER}"', ["note"]))

        rows = self._call(read)
        return Version.parse(rows[0]["note"]) if rows else None

    def count(self, target: RemoteCollection) -> int:
        """Count the passages by rows: the statistics of a collection include deleted ones."""
        [row] = self._call(lambda client: list(self._query(client, target.key, "ver >= 0", ["count(*)"])))
        return int(row["count(*)"])

    def search(
        self, target: RemoteCollection, queries: Floats, limit: int, where: Filter | None
    ) -> list[list[RemoteCandidate]]:
        """The documents of `limit` passages near each of (q, d) queries, or of all that match.

        A graph finds few of the rows that match a rare filter, and not the nearest. So of a filter that leads to fewer
        than 256, all rows are candidates.

        Rejected at once while the server does not respond: `ping`, and the replica that fills the index, find out when
        it does.
        """
        if not self._reachable:
            raise IndexUnavailable("the index does not answer: try again")
        filtered = expression(where)
        asked = max(limit, RARE) if filtered else limit
        examined = max(asked, EXAMINED_FILTERED if filtered else EXAMINED)
        answer = self._call(
            lambda client: client.search(
                target.key,
                data=list(queries),
                filter=filtered,
                limit=asked,
                output_fields=FOUND,
                search_params={"metric_type": "IP", "params": {"ef": examined}},
                consistency_level=STRONG,
                timeout=self._timeout_s,
            )
        )
        found = [[_candidate(hit["entity"]) for hit in hits] for hits in answer]
        if not filtered or all(len(own) == asked for own in found):
            return [own[:limit] for own in found]
        every = self._matching(target.key, filtered)
        return [own[:limit] if len(own) == asked else own + every for own in found]

    def close(self) -> None:
        """Disconnect."""
        with self._lock:
            self._disconnect()

    def _query(self, client: MilvusClient, key: str, where: str, fields: Sequence[str], **most: int) -> Any:
        return client.query(
            key, filter=where, output_fields=list(fields), consistency_level=STRONG, timeout=self._timeout_s, **most
        )

    def _matching(self, key: str, where: str) -> list[RemoteCandidate]:
        """Documents of the rows that match, in any order."""
        rows = self._call(lambda client: self._query(client, key, where, FOUND, limit=MAX_CANDIDATES))
        return [_candidate(row) for row in rows]

    def _index_terms(self, client: MilvusClient, key: str) -> None:
        """Index the terms, where the server can: Milvus Lite scans arrays instead."""
        indexes = MilvusClient.prepare_index_params()
        indexes.add_index("terms", index_type="INVERTED")
        try:
            client.create_index(key, indexes, timeout=self._timeout_s)
        except MilvusException as error:
            log.info("filters are not indexed by this server: %s", error.message)

    def _call(self, act: Callable[[MilvusClient], Result]) -> Result:
        """Call the server. Raises IndexUnavailable."""
        try:
            result = act(self._connected())
        except (MilvusException, grpc.RpcError) as error:
            reason = error.message if isinstance(error, MilvusException) else error.code().name
            if not self._failing:
                log.warning("the index fails: %s", reason)
            self._failing = True
            self._reachable = isinstance(error, MilvusException) and error.code in ANSWERS
            raise IndexUnavailable("the index does not answer, or not in time: try again") from error
        if self._failing:
            log.info("the index answers again")
        self._failing, self._reachable = False, True
        return result

    def _connected(self) -> MilvusClient:
        """The client, connected on first use; its channel reconnects by itself."""
        with self._lock:
            if self._client is None:
                self._client = MilvusClient(
                    self._address.uri,
                    user=self._address.user,
                    password=self._address.password,
                    db_name=self._address.database,
                    timeout=self._timeout_s,
                    dedicated=True,
                )
            return self._client

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _candidate(row: Mapping[str, Any]) -> RemoteCandidate:
    return RemoteCandidate(row["id"], int(row["ver"]))


def rows_of(change: VectorChange) -> list[dict[str, Any]]:
    """A row for each passage; none of a deleted document."""
    if change.vectors is None:
        return []
    doc, metadata = _digest(change.id), MetadataTerms.of(change.metadata)
    return [
        _row(f"{doc}:{change.version}:{number}", doc, change.id, change.version, metadata, vector)
        for number, vector in enumerate(change.vectors)
    ]


def _row(pk: str, doc: str, doc_id: str, version: int, metadata: MetadataTerms, vector: Floats) -> dict[str, Any]:
    return {
        "pk": pk,
        "doc": doc,
        "id": doc_id,
        "ver": version,
        "note": "",
        "terms": metadata.terms,
        "ranges": dict(metadata.ranges),
        "overflow": metadata.overflow,
        "vector": vector,
    }


def _digest(doc_id: str) -> str:
    """A document's id as digits, which need no escaping in an expression."""
    return blake2b(doc_id.encode(), digest_size=16).hexdigest()
