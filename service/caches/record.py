"""How embeddings are written where others may write too: every value says what it is, and whose.

A record is 16 bytes of magic with the number of the format, 16 bytes of checksum over the rest, 64 bytes of shapes and
of the key's digest, and then the numbers. The text is not in it: whoever looks a text up has just tokenised it.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np

from semblance.models.embeddings import TokenEmbeddings

_MAGIC = b"semblance cache1"  # another format ends in another digit
_CHECKSUM_BYTES = 16
_DTYPE = b"<f4 "
_FIELDS = struct.Struct("<4s??2xIIII32s8x")  # dtype, mean_pooled, has given; n, d, weights, given; digest of the key
_SHAPES_AT = len(_MAGIC) + _CHECKSUM_BYTES
HEADER_BYTES = _SHAPES_AT + _FIELDS.size  # a multiple of 16, so that the numbers are aligned


class CorruptRecord(Exception):
    """It is not a record of this format, or not as it was written."""


class SwappedRecord(Exception):
    """It is a sound record, of another key."""


def pack(key: str, embeddings: TokenEmbeddings) -> bytes:
    """The record of these embeddings, without their text.

    >>> entry = TokenEmbeddings(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    >>> len(pack("k", entry)) == HEADER_BYTES + 4 * (2 * 3 + 2)
    True
    """
    given = embeddings.given
    n, d = embeddings.vectors.shape
    shapes = (n, d, len(embeddings.weights), 0 if given is None else len(given))
    arrays = [embeddings.vectors, embeddings.weights, *([] if given is None else [given])]
    fields = _FIELDS.pack(_DTYPE, embeddings.mean_pooled, given is not None, *shapes, _digest(key))
    rest = b"".join([fields, *(array.astype("<f4", copy=False).tobytes() for array in arrays)])
    return b"".join([_MAGIC, _checksum(rest), rest])


def unpack(key: str, record: bytes) -> TokenEmbeddings:
    """Inverse of `pack`, to the bit. The arrays are read-only views of the record.

    Raises:
        CorruptRecord: it is damaged, or of another format.
        SwappedRecord: it was packed for another key.
    """
    rest = memoryview(record)[_SHAPES_AT:]
    if len(record) < HEADER_BYTES or record[:_SHAPES_AT] != _MAGIC + _checksum(rest):
        raise CorruptRecord
    dtype, mean_pooled, has_given, n, d, weights, given, digest = _FIELDS.unpack_from(rest)
    if digest != _digest(key):
        raise SwappedRecord
    if dtype != _DTYPE or len(record) != HEADER_BYTES + 4 * (n * d + weights + given):
        raise CorruptRecord
    numbers = np.frombuffer(record, "<f4", offset=HEADER_BYTES)
    return TokenEmbeddings(
        vectors=numbers[: n * d].reshape(n, d),
        weights=numbers[n * d : n * d + weights],
        given=numbers[n * d + weights :] if has_given else None,
        mean_pooled=mean_pooled,
    )


def _checksum(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM_BYTES).digest()


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
