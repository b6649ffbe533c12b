"""Serialize embeddings for a shared cache, with format, checksum, and digest of the key.

A record is 16 bytes of magic that end in the format number, 16 bytes of checksum over the rest, 64 bytes of shapes and
key digest, and then the numbers. It omits the text, which the reader has tokenized already.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np

from semblance.models.embeddings import TokenEmbeddings

_MAGIC = b"semblance cache1"  # the last digit is the format number
_CHECKSUM_BYTES = 16
_DTYPE = b"<f4 "
_FIELDS = struct.Struct(
    "<4s??2xIIII32s8x"
)  # dtype, mean_pooled, has pooled; n, d, sizes of weights and pooled; digest of the key
_SHAPES_AT = len(_MAGIC) + _CHECKSUM_BYTES
HEADER_BYTES = _SHAPES_AT + _FIELDS.size  # a multiple of 16, so that the numbers are aligned


class CorruptRecord(Exception):
    """The bytes are damaged, or no record of this format."""


class SwappedRecord(Exception):
    """The record is intact but belongs to another key."""


def pack(key: str, embeddings: TokenEmbeddings) -> bytes:
    """Serialize embeddings, without their text.

    >>> entry = TokenEmbeddings(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    >>> len(pack("k", entry)) == HEADER_BYTES + 4 * (2 * 3 + 2)
    True
    """
    pooled = embeddings.pooled_vector
    n, d = embeddings.vectors.shape
    shapes = (n, d, len(embeddings.weights), 0 if pooled is None else len(pooled))
    arrays = [embeddings.vectors, embeddings.weights, *([] if pooled is None else [pooled])]
    fields = _FIELDS.pack(_DTYPE, embeddings.mean_pooled, pooled is not None, *shapes, _digest(key))
    rest = b"".join([fields, *(array.astype("<f4", copy=False).tobytes() for array in arrays)])
    return b"".join([_MAGIC, _checksum(rest), rest])


def unpack(key: str, record: bytes) -> TokenEmbeddings:
    """Inverse of `pack`, bit for bit. The arrays are read-only views of the record.

    Raises:
        CorruptRecord: the record is damaged, or of another format.
        SwappedRecord: the record belongs to another key.
    """
    rest = memoryview(record)[_SHAPES_AT:]
    if len(record) < HEADER_BYTES or record[:_SHAPES_AT] != _MAGIC + _checksum(rest):
        raise CorruptRecord
    dtype, mean_pooled, has_pooled, n, d, weights, pooled, digest = _FIELDS.unpack_from(rest)
    if digest != _digest(key):
        raise SwappedRecord
    if dtype != _DTYPE or len(record) != HEADER_BYTES + 4 * (n * d + weights + pooled):
        raise CorruptRecord
    numbers = np.frombuffer(record, "<f4", offset=HEADER_BYTES)
    return TokenEmbeddings(
        vectors=numbers[: n * d].reshape(n, d),
        weights=numbers[n * d : n * d + weights],
        pooled_vector=numbers[n * d + weights :] if has_pooled else None,
        mean_pooled=mean_pooled,
    )


def _checksum(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM_BYTES).digest()


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
