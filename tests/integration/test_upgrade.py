"""After a change of the default model, existing collections keep the model that filled them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semblance.service.composition.models import served_models
from semblance.service.composition.services import open_services
from semblance.service.composition.stores import Stores, open_stores
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.ports.documents import CollectionSettings
from semblance.service.services import MetricsPage
from semblance.service.settings import Settings
from tests.integration.conftest import Api, served
from tests.support.servers.word_models import write_model

PARCEL = "my parcel never came"
TEXTS = ("Track a shipment with its number.", "Change your password in the settings.", "Gift cards are no cash.")
QUERIES = {"queries": [PARCEL, "How do I change my password?"], "k": 5}


def test_collections_of_a_former_default_model_are_still_served(tmp_path: Path) -> None:
    model = "minilm-words"
    with served(tmp_path, models=f"{model},minilm") as (_, api):
        api.collection("default")
        api.store("default", *({"id": text, "text": text} for text in TEXTS))
        before = api.ok("/search", QUERIES)["results"]
    with served(tmp_path) as (service, api):
        log = service.log.read_text("utf-8")
        assert (
            "collections with another model than the default, minilm-graded: default; `semblance index reembed" in log
        )
        assert api.get("/collections/default")["model"] == model
        assert {name for name, is_loaded in loaded(api).items() if is_loaded} == {"minilm-graded"}
        assert api.ok("/search", QUERIES)["results"] == before
        assert {name for name, is_loaded in loaded(api).items() if is_loaded} == {"minilm-graded", model}
        api.store("default", {"id": "more", "text": "My parcel never came, and now?"})
        hit = api.ok("/search", QUERIES | {"k": 1})["results"][0]["hits"][0]
        [score] = api.scores((PARCEL, "My parcel never came, and now?"), model=model)
        assert (hit["id"], round(hit["score"], 5)) == ("more", round(score, 5))
        api.collection("made-now")
        assert api.get("/collections/made-now")["model"] == "minilm-graded"


@pytest.mark.usefixtures("multilingual")
def test_built_in_models_that_collections_need_are_served(tmp_path: Path) -> None:
    with closing(SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))) as store:
        for name in ("multilingual", "mine"):
            store.create(name, CollectionSettings(name, "space", 4, "cosine", "exact", "none"))
    default = served_models(Settings(home=tmp_path / "new")).names
    assert served_models(Settings(home=tmp_path)).names == [*default, "multilingual"]
    assert served_models(Settings(home=tmp_path, models="minilm")).names == ["minilm"]
    (tmp_path / "documents.sqlite").write_bytes(b"no database")
    assert served_models(Settings(home=tmp_path)).names == default


def test_a_collection_whose_model_is_not_served_degrades(tmp_path: Path) -> None:
    one, other = (write_model(tmp_path / f"{seed}.npz", seed=seed) for seed in (0, 1))
    with served(tmp_path, models=f"one={one},other={other}") as (_, api):
        api.collection("kept", model="other")
        api.collection("gone")
        assert api.get("/ready")["status"] == "ready"
    with served(tmp_path, models=f"other={other}") as (service, api):
        assert api.get("/ready")["status"] == "degraded"
        assert api.get("/ready")["checks"]["collections"] is False
        assert "semblance_collections_left_out 1.0" in api.http.get("/metrics").text
        assert service.log.read_text("utf-8").count("collection gone needs one, which is not served") == 1
    with served(tmp_path, models=f"other={other},one={other}") as (_, api):  # its name, but another space
        assert "semblance_collections_left_out 1.0" in api.http.get("/metrics").text


def test_a_collection_left_out_for_two_reasons_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))) as store:
        store.create("gone", CollectionSettings("one", "space", 4, "cosine", "exact", "none"))

    @asynccontextmanager
    async def uncopied(*arguments: Any) -> AsyncIterator[Stores]:
        async with open_stores(*arguments) as stores:
            yield replace(stores, failed=lambda: {"gone", "uncopied"})

    async def metrics() -> bytes:
        settings = Settings(home=tmp_path, models=f"other={write_model(tmp_path / 'other.npz', seed=0)}")
        async with open_services(settings, served_models(settings)) as opened:
            return await opened[MetricsPage].exposition()

    monkeypatch.setattr("semblance.service.composition.services.open_stores", uncopied)
    assert b"semblance_collections_left_out 2.0" in asyncio.run(metrics())


def loaded(api: Api) -> dict[str, Any]:
    return {model["name"]: model["loaded"] for model in api.get("/models")["models"]}
