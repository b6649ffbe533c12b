"""Digests of stored rows, to find bytes that a disk changed without an error."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from semblance.service.documents.schema import documents, token_codes, vectors

DIGEST_BYTES = 8
ROWS = 500  # in memory at a time


def of_document(row: Mapping[str, Any]) -> bytes:
    """Digest of the content of a row of `documents`."""
    metadata = json.dumps(row["metadata"], sort_keys=True).encode()
    return _digest(row["id"].encode(), row["text"].encode(), b"%d" % row["truncated"], metadata)


def of_vector(row: Mapping[str, Any]) -> bytes:
    """Digest of the content of a row of `vectors`."""
    cut = [] if row["spans"] is None else [row["spans"]]
    return _digest(row["id"].encode(), row["space"].encode(), row["vector"], *cut)


def of_codes(row: Mapping[str, Any]) -> bytes:
    """Digest of the content of a row of `token_codes`."""
    later = [b"%d" % row["passage"]] if row["passage"] else []
    return _digest(row["id"].encode(), row["space"].encode(), row["codes"], repr(row["error"]).encode(), *later)


def damaged_rows(connection: Connection, name: str) -> Iterator[str]:
    """Describe the rows of a collection whose content differs from their digest.

    Rows that an earlier release wrote have no digest.
    """
    for table, part, digest_of in (
        (documents, "its text or metadata", of_document),
        (vectors, "its vector", of_vector),
        (token_codes, "its token codes", of_codes),
    ):
        query = select(table).where(table.c.collection == name, table.c.digest.is_not(None)).order_by(table.c.id)
        rows = connection.execution_options(yield_per=ROWS).execute(query).mappings()
        yield from (f"{row['id']!r} is damaged: {part}" for row in rows if row["digest"] != digest_of(dict(row)))


def _digest(*parts: bytes) -> bytes:
    """Digest of parts with their lengths: no byte can move from one to the next."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
