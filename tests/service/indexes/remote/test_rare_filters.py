"""A search with a filter finds the nearest that match, though the server's graph leads to few of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from urllib.parse import urlsplit

import numpy as np
import pytest

from semblance.models.embeddings import Floats, unit_rows
from semblance.service.filters import parse_filter
from semblance.service.indexes.remote import milvus_index
from semblance.service.indexes.remote.milvus_address import MilvusAddress
from semblance.service.indexes.remote.milvus_index import MilvusIndex
from semblance.service.ports.documents import VectorChange
from semblance.service.ports.remote_index import RemoteCollection

pytestmark = pytest.mark.slow

DIM, ROWS, RARE, SOME = 32, 4000, 40, 20
TARGET = RemoteCollection(f"semblance_test_{secrets.token_hex(6)}", "g", DIM, exhaustive=False)
VECTORS: Floats = unit_rows(np.random.default_rng(0).normal(size=(ROWS, DIM))).astype(np.float32)
FARTHEST = np.argsort(VECTORS @ VECTORS[0])[:RARE]


@pytest.fixture(scope="module")
def index(milvus: str) -> Iterator[MilvusIndex]:
    """An index of a segment with a graph, in which the farthest rows from the first are rare."""
    from pymilvus import MilvusClient

    index = MilvusIndex(MilvusAddress.parse(milvus), 60.0)
    index.create(TARGET)
    rare = set(FARTHEST.tolist())
    metadata = ({"rare": i in rare, "part": i % SOME} for i in range(ROWS))
    changes = [VectorChange(str(i), 1, VECTORS[i : i + 1], each) for i, each in enumerate(metadata)]
    index.apply(TARGET, changes, new_until=1)
    client = MilvusClient(f"http://{urlsplit(milvus).netloc}", dedicated=True)
    client.flush(TARGET.key)
    client.release_collection(TARGET.key)
    client.load_collection(TARGET.key)
    yield index
    client.close()
    index.drop(TARGET.key)
    index.close()


@pytest.mark.parametrize("examined", [milvus_index.EXAMINED_FILTERED, 1])
@pytest.mark.parametrize("limit", [10, RARE, 2 * RARE])
def test_all_rows_of_a_rare_filter_are_candidates(
    index: MilvusIndex, monkeypatch: pytest.MonkeyPatch, examined: int, limit: int
) -> None:
    monkeypatch.setattr(milvus_index, "EXAMINED_FILTERED", examined)
    [candidates] = index.search(TARGET, VECTORS[:1], limit, parse_filter({"rare": True}))
    assert {int(each.id) for each in candidates} == set(FARTHEST.tolist())


def test_no_more_candidates_are_answered_than_asked_for(index: MilvusIndex) -> None:
    [candidates] = index.search(TARGET, VECTORS[:1], 7, parse_filter({"rare": False}))
    assert len(candidates) == 7


def test_few_of_the_nearest_that_match_are_missed(index: MilvusIndex) -> None:
    queries = VECTORS[:100] + 0.1
    found = index.search(TARGET, queries, 20, parse_filter({"part": 0}))
    matching = np.arange(0, ROWS, SOME)
    nearest = matching[np.argsort(queries @ -VECTORS[matching].T)[:, :10]]
    hits = [len({int(each.id) for each in own} & set(best)) for own, best in zip(found, nearest.tolist(), strict=True)]
    assert np.mean(hits) / 10 >= 0.99
