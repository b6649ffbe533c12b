"""The record format of the shared cache: exact, and never read as something else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from semblance.models.embeddings import Floats, TokenEmbeddings
from semblance.service.caches.record import CorruptRecord, SwappedRecord, pack, unpack
from tests.support.vectors import bits

SIZES = st.integers(0, 6)
ANY_FLOAT = npst.from_dtype(np.dtype(np.float32))  # infinities, subnormals and every kind of NaN among them


@st.composite
def embeddings(draw: st.DrawFn) -> TokenEmbeddings:
    def floats(*shape: int) -> Floats:
        return draw(npst.arrays(np.float32, shape, elements=ANY_FLOAT))

    n, d = draw(SIZES), draw(SIZES)
    return TokenEmbeddings(
        vectors=floats(n, d),
        weights=floats(draw(SIZES)),
        pooled_vector=draw(st.none() | st.just(floats(draw(SIZES)))),
        mean_pooled=draw(st.booleans()),
    )


@given(key=st.text(), entry=embeddings())
def test_records_round_trip_bit_for_bit(key: str, entry: TokenEmbeddings) -> None:
    assert bits(unpack(key, pack(key, entry))) == bits(entry)


def test_non_contiguous_arrays_round_trip() -> None:
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4).T
    found = unpack("k", pack("k", TokenEmbeddings(vectors, np.ones(8, np.float32)[::2])))
    assert found.vectors.tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert found.weights.tolist() == [1, 1, 1, 1]


@given(key=st.text(), entry=embeddings(), data=st.data(), flip=st.integers(1, 255))
def test_one_changed_byte_is_detected(key: str, entry: TokenEmbeddings, data: st.DataObject, flip: int) -> None:
    record = bytearray(pack(key, entry))
    record[data.draw(st.integers(0, len(record) - 1))] ^= flip
    with pytest.raises(CorruptRecord):
        unpack(key, bytes(record))


@given(key=st.text(), entry=embeddings(), data=st.data(), more=st.binary(min_size=1))
def test_a_shortened_or_extended_record_is_detected(
    key: str, entry: TokenEmbeddings, data: st.DataObject, more: bytes
) -> None:
    record = pack(key, entry)
    for wrong in (record[: data.draw(st.integers(0, len(record) - 1))], record + more):
        with pytest.raises(CorruptRecord):
            unpack(key, wrong)


@given(anything=st.binary())
def test_arbitrary_bytes_are_not_accepted(anything: bytes) -> None:
    with pytest.raises(CorruptRecord):
        unpack("k", anything)


@given(keys=st.lists(st.text(), min_size=2, max_size=2, unique=True), entry=embeddings())
def test_a_record_of_another_key_is_distinguished_from_damage(keys: list[str], entry: TokenEmbeddings) -> None:
    with pytest.raises(SwappedRecord):
        unpack(keys[0], pack(keys[1], entry))
