"""A service of word vectors: no network, no special tokens, and texts without a known word."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import CollectionSettings, Document, Write
from semblance.service.usecases.maintenance.verify import verify
from tests.integration.conftest import Api, require_no_internal_errors, served, total
from tests.support.small_model import random_vectors, write_glove
from tests.support.vectors import one_passage

WORDS = ("my", "parcel", "package", "never", "came", "is", "lost", "the", "lamp", "shines", ".", "café", "n't", "do")
UNKNOWN_TEXTS = ["zebra quokka", "🙂🙃", "שלום עולם", "مرحبا بالعالم", "東京タワー", "!?", "\u202eabc\u202c"]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("words")
    glove = write_glove(folder / "glove.txt", WORDS)
    (folder / "counts").write_text("the 60\nis 30\nmy 10\n")
    with served(models=f"glove={glove},sif={glove}?weighting=sif&frequencies={folder / 'counts'}") as (service, api):
        yield api
        require_no_internal_errors(service)


def test_models_are_listed_and_loaded_on_first_use(words: Api) -> None:
    glove, sif = words.get("/models")["models"]
    assert (glove["name"], glove["default"], glove["loaded"], glove["dim"]) == ("glove", True, True, 8)
    assert (glove["max_tokens"], glove["pooling"], sif["loaded"], sif["max_tokens"]) == (512, "mean", False, 512)
    assert glove["space"] != sif["space"]
    plain, weighed = (words.scores(("the lamp", "my lamp"), model=name)[0] for name in ("glove", "sif"))
    assert plain != pytest.approx(weighed, abs=1e-3)
    assert words.get("/models")["models"][1]["loaded"]


@pytest.mark.parametrize("model", ["glove", "sif"])
@pytest.mark.parametrize("measure", ["cosine", "rcmd"])
def test_scores_are_of_words_and_zero_without_known_ones(words: Api, measure: str, model: str) -> None:
    a, b, options = "My parcel never came.", "the package is lost", {"measure": measure, "model": model}
    found = words.get("/explain", a=a, b=b, **options)
    assert [token["text"] for token in found["a"]["tokens"]] == ["My", "parcel", "never", "came", "."]
    assert found["special"] == 0
    assert total(found) == pytest.approx(found["score"], abs=1e-6)
    assert words.scores((a, b), (a, a), **options) == pytest.approx([found["score"], 1.0], abs=1e-6)
    unknown = [(text, other) for text in UNKNOWN_TEXTS for other in ("the lamp", text)]
    assert words.scores(*unknown, explain=True, **options) == [0.0] * len(unknown)
    for form in ("json", "svg", "html", "png"):
        for text in UNKNOWN_TEXTS:
            question = {"a": text, "b": "the lamp", "format": form, **options}
            assert words.http.get("/explain", params=question).status_code == 200


def test_documents_without_known_words_are_found_last(words: Api) -> None:
    words.collection("odd", tokens="int8")
    texts = ["the lamp shines", "my parcel is lost", *UNKNOWN_TEXTS, "café zebra"]
    documents = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
    assert words.store("odd", *documents)["upserted"] == len(texts)
    for measure in ("cosine", "rcmd"):
        options = {"collection": "odd", "k": 10, "measure": measure, "explain": True}
        hits = words.hits("my lost parcel", **options)
        assert (hits[0]["id"], len(hits)) == ("1", 10)
        assert all(math.isfinite(hit["score"]) for hit in hits)
        assert [hit["score"] for hit in words.hits("東京", **options)] == [0.0] * 10
    answer = words.ok("/v1/embeddings", {"model": "glove", "input": ["the lamp", "東京"]})
    known, unknown = (each["embedding"] for each in answer["data"])
    assert math.hypot(*known) == pytest.approx(1.0, abs=1e-6)
    assert unknown == [0.0] * 8


def test_a_store_with_zero_vectors_verifies(tmp_path: Path) -> None:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    store.create("c", CollectionSettings("glove", "space", 8, "cosine", "auto", "none"))
    store.upsert(store.collection("c"), [Write(Document("zero", "東京", {}), one_passage(0 * random_vectors(1)[0]))])
    [of_table] = verify(store, IndexFolder(tmp_path / "indexes"), {"space"})
    [of_network] = verify(store, IndexFolder(tmp_path / "indexes"))
    store.close()
    assert of_table.faults == []
    assert ["has the zero vector" in fault for fault in of_network.faults] == [True]
