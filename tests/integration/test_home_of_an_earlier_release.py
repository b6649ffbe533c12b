"""A home folder written by release 0.1.0 opens without encoding any document again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from semblance.service.indexes import snapshots
from tests.integration.conftest import Api, served
from tests.support.project import PROJECT
from tests.support.running_service import Service

RELEASE = PROJECT / "tests" / "integration" / "homes" / "v0.1.0"
EXPECTED = json.loads((RELEASE / "expected.json").read_text("utf-8"))
UNFILLED = 44  # documents of `words` that its re-embedding to `second` had not embedded when the folder was copied


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Api]]:
    """A service on a copy of that folder."""
    copy = Path(shutil.copytree(RELEASE, tmp_path_factory.mktemp("release") / "copy"))
    words = ",".join(f"{name}={copy / 'models' / name}.npz" for name in ("first", "second"))
    never_idle = {"idle_check_s": "3000", "ready_within_s": "3600"}  # the check encodes a text, too
    with served(copy / "home", models=f"minilm-clrcmd,minilm,{words}", **never_idle) as found:
        yield found


@pytest.fixture(scope="module")
def opened(running: tuple[Service, Api]) -> Api:
    return running[1]


def test_collections_keep_versions_spaces_and_reembeddings(opened: Api) -> None:
    collections = opened.get("/collections")["collections"]
    for collection, expected in zip(collections, EXPECTED["collections"], strict=True):
        assert _same_fields(collection, expected) == expected, "fields may be added, and none changed"


def test_models_keep_the_digests_of_their_spaces(opened: Api) -> None:
    spaces = {model["name"]: model["space"] for model in opened.get("/models")["models"]}
    assert spaces == {model["name"]: model["space"] for model in EXPECTED["models"]}


def test_indexes_without_terms_are_built_again(running: tuple[Service, Api]) -> None:
    service, api = running
    api.get("/ready")
    reason = f"its snapshot is not used: its format is 1, this release reads {snapshots.FORMAT}"
    assert service.log.read_text("utf-8").count(reason) == len(EXPECTED["collections"])


@pytest.mark.parametrize("search", EXPECTED["searches"], ids=["token codes", "vectors", "words"])
def test_searches_find_the_same_and_encode_only_the_query(opened: Api, search: dict[str, Any]) -> None:
    collection = search["request"]["collection"]
    opened.ok("/search", {"query": "a", "collection": collection, "measure": "cosine"})
    before = encoded_texts(opened)  # the first search of a collection also encodes questions that it hardly answers
    [result] = opened.ok("/search", search["request"])["results"]
    assert [hit["id"] for hit in result["hits"]] == [doc_id for doc_id, _ in search["hits"]]
    scores = [score for _, score in search["hits"]]
    assert [hit["score"] for hit in result["hits"]] == pytest.approx(scores, abs=2e-5)
    assert encoded_texts(opened) <= before + 1


def test_a_reembedding_under_way_embeds_only_the_remaining_documents(opened: Api) -> None:
    before = encoded_texts(opened)
    assert opened.ok("/collections/words/reembedding/step", {})["embedded"] == UNFILLED
    assert encoded_texts(opened) == before + UNFILLED
    opened.ok("/collections/words/reembedding/switch", {})
    assert opened.get("/collections/words")["model"] == "second"


def encoded_texts(api: Api) -> float:
    """Texts that models have encoded since the service started."""
    found = re.search(r"^semblance_batch_texts_sum (.*)$", api.http.get("/metrics").text, re.MULTILINE)
    assert found
    return float(found[1])


def _same_fields(value: Any, expected: Any) -> Any:
    """The part of a JSON value that has the fields of another."""
    if not isinstance(expected, dict):
        return value
    return {name: _same_fields(value[name], expected[name]) for name in expected}
