"""A service of word vectors: no network, no special tokens, and texts without a known word."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import CollectionSettings, Document, Write
from semblance.service.usecases.verify import verify
from tests.support.running_service import running_service
from tests.support.small_model import random_vectors, write_glove
from tests.support.vectors import one_passage

WORDS = ("my", "parcel", "package", "never", "came", "is", "lost", "the", "lamp", "shines", ".", "café", "n't", "do")
UNKNOWN_TEXTS = ["zebra quokka", "🙂🙃", "שלום עולם", "مرحبا بالعالم", "東京タワー", "!?", "\u202eabc\u202c"]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    folder = tmp_path_factory.mktemp("words")
    glove = write_glove(folder / "glove.txt", WORDS)
    (folder / "counts").write_text("the 60\nis 30\nmy 10\n")
    models = f"glove={glove},sif={glove}?weighting=sif&frequencies={folder / 'counts'}"
    with running_service(models=models) as url, httpx2.Client(base_url=url, timeout=120) as http:
        yield http
        assert 'semblance_errors_total{code="internal_error"} 0.0' in http.get("/metrics").text


def ok(answer: httpx2.Response) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{name} in {answer.text}"))


def test_models_are_listed_and_loaded_on_first_use(words: httpx2.Client) -> None:
    glove, sif = ok(words.get("/models"))["models"]
    assert (glove["name"], glove["default"], glove["loaded"], glove["dim"]) == ("glove", True, True, 8)
    assert (glove["max_tokens"], glove["pooling"], sif["loaded"], sif["max_tokens"]) == (512, "mean", False, 512)
    assert glove["space"] != sif["space"]
    pair = {"a": "the lamp", "b": "my lamp"}
    plain, weighed = (
        ok(words.post("/similarity", json={"pairs": [pair], "model": name}))["scores"][0] for name in ("glove", "sif")
    )
    assert plain != pytest.approx(weighed, abs=1e-3)
    assert ok(words.get("/models"))["models"][1]["loaded"]


@pytest.mark.parametrize("measure", ["cosine", "rcmd"])
@pytest.mark.parametrize("model", ["glove", "sif"])
def test_scores_and_links_are_of_words(words: httpx2.Client, measure: str, model: str) -> None:
    question = {"a": "My parcel never came.", "b": "the package is lost", "measure": measure, "model": model}
    found = ok(words.get("/explain", params=question))
    assert [token["text"] for token in found["a"]["tokens"]] == ["My", "parcel", "never", "came", "."]
    assert found["special"] == 0
    links = math.fsum(link["contribution"] for link in found["links"])
    assert links + found["omitted"] == pytest.approx(found["score"], abs=1e-6)
    pairs = [{"a": question["a"], "b": question["b"]}, {"a": question["a"], "b": question["a"]}]
    scores = ok(words.post("/similarity", json={"pairs": pairs, "measure": measure, "model": model}))["scores"]
    assert scores == pytest.approx([found["score"], 1.0], abs=1e-6)


@pytest.mark.parametrize("model", ["glove", "sif"])
@pytest.mark.parametrize("measure", ["cosine", "rcmd"])
def test_texts_without_known_words_score_zero(words: httpx2.Client, model: str, measure: str) -> None:
    pairs = [{"a": text, "b": other} for text in UNKNOWN_TEXTS for other in ("the lamp", text)]
    body = {"pairs": pairs, "model": model, "measure": measure, "explain": True}
    answer = ok(words.post("/similarity", json=body))
    assert answer["scores"] == [0.0] * len(pairs)
    for text in UNKNOWN_TEXTS:
        for form in ("json", "svg", "html", "png"):
            question = {"a": text, "b": "the lamp", "model": model, "measure": measure, "format": form}
            assert words.get("/explain", params=question).status_code == 200
    assert words.post("/similarity", json={"pairs": [{"a": "\u200b", "b": "x"}]}).status_code == 422


def test_documents_without_known_words_are_found_last(words: httpx2.Client) -> None:
    ok(words.put("/collections/odd", json={"tokens": "int8"}))
    texts = ["the lamp shines", "my parcel is lost", *UNKNOWN_TEXTS, "café zebra"]
    documents = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
    assert ok(words.post("/collections/odd/documents", json={"documents": documents}))["upserted"] == len(texts)
    for measure in ("cosine", "rcmd"):
        body = {"query": "my lost parcel", "collection": "odd", "k": 10, "measure": measure, "explain": True}
        hits = ok(words.post("/search", json=body))["results"][0]["hits"]
        assert (hits[0]["id"], len(hits)) == ("1", 10)
        assert all(math.isfinite(hit["score"]) for hit in hits)
        unknown = ok(words.post("/search", json=body | {"query": "東京"}))["results"][0]["hits"]
        assert [hit["score"] for hit in unknown] == [0.0] * 10


def test_embeddings_of_unknown_words_are_zeros(words: httpx2.Client) -> None:
    answer = ok(words.post("/v1/embeddings", json={"model": "glove", "input": ["the lamp", "東京"]}))
    known, unknown = (each["embedding"] for each in answer["data"])
    assert math.hypot(*known) == pytest.approx(1.0, abs=1e-6)
    assert unknown == [0.0] * 8


def test_a_store_with_zero_vectors_verifies(tmp_path: Path) -> None:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    store.create("c", CollectionSettings("glove", "space", 8, "cosine", "auto", "none"))
    store.upsert(store.collection("c"), [Write(Document("zero", "東京", {}), one_passage(0 * random_vectors(1)[0]))])
    [found] = verify(store, IndexFolder(tmp_path / "indexes"))
    store.close()
    assert found.faults == []
