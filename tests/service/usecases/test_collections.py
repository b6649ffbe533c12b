"""Collections record the number type of their vectors, which is none of their settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from semblance_client.vocabulary.collections import CollectionRequest

from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from tests.service.usecases.one_service import OneService, running
from tests.support.random_encoder import RandomEncoder


@pytest.fixture
def encoder() -> RandomEncoder:
    return RandomEncoder("random", "space", 4)


@pytest.fixture
async def service(encoder: RandomEncoder, tmp_path: Path) -> AsyncIterator[OneService]:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    async with running(OneService(store, tmp_path, encoder)) as service:
        yield service


async def test_another_number_type_warns_once_and_changes_no_collection(
    service: OneService, encoder: RandomEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    created, new = await service.collections.create("c", CollectionRequest())
    assert (created.precision, new) == ("float32", True)
    assert await service.collections.encoder_of(service.store.collection("c")) is encoder
    assert "was made in" not in caplog.text
    encoder.precision = "bfloat16"
    again, new = await service.collections.create("c", CollectionRequest())
    assert (again, new) == (created, False)
    for _ in range(2):
        assert await service.collections.encoder_of(service.store.collection("c")) is encoder
    assert caplog.text.count("collection c was made in float32, and its model random runs in bfloat16 now") == 1


async def test_a_recreated_collection_has_the_number_type_of_now(service: OneService, encoder: RandomEncoder) -> None:
    created, _ = await service.collections.create("c", CollectionRequest())
    encoder.precision = "bfloat16"
    await service.collections.drop("c")
    recreated, _ = await service.collections.create("c", CollectionRequest())
    assert (created.precision, recreated.precision) == ("float32", "bfloat16")
