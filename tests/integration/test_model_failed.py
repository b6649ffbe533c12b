"""A model that overflows on one word: texts with it fail by name at every route, and spoil nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from semblance.service.cli.main import app
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.ports.documents import DocumentEmbedding, Write
from tests.integration.conftest import Api, served
from tests.support.small_model import load, make_small

BAD, FINE = "A cat walks.", "A horse."
EMBEDDINGS = "embeddings.word_embeddings.weight"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model that overflows on "cat", whose row is the largest number, and the same without fault."""
    folder = tmp_path_factory.mktemp("models")
    good, bad = make_small(folder / "good"), make_small(folder / "bad")
    weights = load_file(bad / "model.safetensors")
    weights[EMBEDDINGS][load(good).tokenize(["cat"], "query", "END")[0].ids[1]] = np.finfo(np.float32).max
    save_file(weights, bad / "model.safetensors", {"format": "pt"})
    return {"bad": bad, "good": good}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def api(models: dict[str, Path], home: Path) -> Iterator[Api]:
    listed = ",".join(f"{name}={folder}" for name, folder in models.items())
    with served(home, models=listed) as (_, api):
        yield api


def failed(answer: Any) -> set[str]:
    """Pointers of the texts that a refusal names."""
    assert (answer.status_code, answer.json()["code"]) == (503, "model_failed"), answer.text
    return {each["pointer"] for each in answer.json()["errors"]}


def test_the_text_alone_is_named_and_others_get_their_scores(api: Api) -> None:
    pairs = [{"a": BAD, "b": "A fish."}, {"a": FINE, "b": "A cow."}]
    [_, expected] = api.ok("/similarity", {"pairs": pairs, "model": "good"})["scores"]
    for _ in range(2):
        assert failed(api.post("/similarity", {"pairs": pairs, "model": "bad"})) == {"/pairs/0/a"}
        [score] = api.ok("/similarity", {"pairs": pairs[1:], "model": "bad"})["scores"]
        assert score == pytest.approx(expected, abs=1e-6)
    repeated = {"left": [BAD, FINE], "right": [FINE, BAD, "cat"], "model": "bad"}
    assert failed(api.post("/similarity", repeated)) == {"/left/0", "/right/1", "/right/2"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": [FINE, BAD]}),
        ("/embed", {"inputs": [FINE, BAD]}),
        ("/api/embed", {"input": [FINE, BAD]}),
        ("/v1/embed", {"texts": [FINE, BAD]}),
        ("/v2/embed", {"texts": [FINE, BAD]}),
        ("/v1/rerank", {"query": "a horse", "documents": [FINE, BAD]}),
        ("/v2/rerank", {"query": BAD, "documents": [FINE]}),
        ("/rerank", {"query": "a horse", "texts": [FINE, BAD]}),
        ("/score", {"text_1": FINE, "text_2": [BAD]}),
        ("/explain", {"a": FINE, "b": BAD}),
    ],
)
def test_every_route_refuses_rather_than_guesses(api: Api, path: str, body: dict[str, Any]) -> None:
    answer = api.post(path, {**body, "model": "bad"})
    assert answer.status_code in (503, 500 if path in ("/embed", "/rerank", "/api/embed") else 503), answer.text
    assert "the model bad fails on it" in answer.text


def test_documents_are_stored_whole_or_not_at_all(api: Api) -> None:
    api.collection("c", model="bad")
    both = [{"id": "bad", "text": BAD}, {"id": "fine", "text": FINE}]
    assert failed(api.post("/collections/c/documents", {"documents": both})) == {"/documents/0/text"}
    assert api.get("/collections/c/documents")["documents"] == []
    answers = api.lines("c", "\n".join(map(json.dumps, both)).encode())
    [[error]] = [each["errors"] for each in answers if each.get("errors")]
    assert (error["line"], error["code"]) == (1, "model_failed")
    assert [each["id"] for each in api.get("/collections/c/documents")["documents"]] == ["fine"]


def test_what_an_earlier_release_stored_is_found_and_repaired(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = ",".join(f"{name}={folder}" for name, folder in models.items())
    monkeypatch.setenv("SEMBLANCE_MODELS", listed)
    with served(tmp_path, models=listed) as (_, api):
        api.collection("old", model="bad")
        api.store("old", {"id": "x", "text": FINE})
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    stored = store.get("old", ["x"])["x"]
    zero = np.zeros((1, store.collection("old").settings.dim), np.float32)
    spoilt = Write(type(stored)("cat", BAD, {}), DocumentEmbedding(zero, truncated=False))
    store.upsert(store.collection("old"), [spoilt])
    store.close()
    ran = CliRunner().invoke(app, ["index", "verify", "--home", str(tmp_path)])
    assert ran.exit_code == 1
    assert "'cat' has the zero vector" in ran.output
    with served(tmp_path, models=listed) as (_, api):
        at = "/collections/old/reembedding"
        assert api.http.put(at, json={"model": "good"}).status_code in (200, 201)
        assert api.ok(f"{at}/step", {})["left"] == 0
        assert api.ok(f"{at}/switch", {})
    ran = CliRunner().invoke(app, ["index", "verify", "--home", str(tmp_path)])
    assert (ran.exit_code, "No faults found" in ran.output) == (0, True), ran.output
