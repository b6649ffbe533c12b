"""POST /collections/{name}/map: principal components of the stored vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tests.integration.conftest import Api

TEXTS = {
    f"{topic}-{number}": (topic, f"The {topic} {verb} number {number}.")
    for topic in ("cat", "train", "tax")
    for number, verb in enumerate(("sleeps beside", "leaves with", "is paid for", "looks like"))
}


@pytest.fixture(scope="module")
def filled(api: Api) -> Api:
    api.collection("mapped")
    documents = ({"id": key, "text": text, "metadata": {"topic": topic}} for key, (topic, text) in TEXTS.items())
    api.store("mapped", *documents)
    return api


def vectors_of(api: Api, ids: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    body = {"model": "minilm-words", "input": [TEXTS[each][1] for each in ids], "encoding_format": "float"}
    return np.array([each["embedding"] for each in api.ok("/v1/embeddings", body)["data"]])


def places_of(answer: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([[each["x"], each["y"]] for each in answer["points"]])


def test_points_are_the_principal_components_of_scikit_learn(filled: Api) -> None:
    answer = filled.ok("/collections/mapped/map", {"field": "topic"})
    ids = [each["id"] for each in answer["points"]]
    assert ids == sorted(TEXTS)
    assert [each["value"] for each in answer["points"]] == [TEXTS[each][0] for each in ids]
    assert [each["text"] for each in answer["points"]] == [TEXTS[each][1] for each in ids]
    oracle = PCA(2, svd_solver="full")
    expected = oracle.fit_transform(vectors_of(filled, ids))
    places = places_of(answer)
    signs = np.sign((expected * places).sum(axis=0))
    assert np.allclose(places, expected * signs, atol=1e-4)
    assert answer["explained"] == pytest.approx(oracle.explained_variance_ratio_, abs=1e-4)
    assert (answer["documents"], answer["warnings"]) == (len(TEXTS), [])


def test_a_filter_and_a_limit_choose_the_documents(filled: Api) -> None:
    tax = filled.ok("/collections/mapped/map", {"filter": {"topic": "tax"}, "limit": 3})
    assert [each["id"] for each in tax["points"]] == ["tax-0", "tax-1", "tax-2"]
    assert tax["documents"] == 4
    one = filled.ok("/collections/mapped/map", {"limit": 1, "field": "absent"})["points"]
    assert one == [{"id": "cat-0", "x": 0.0, "y": 0.0, "text": TEXTS["cat-0"][1], "value": None}]
    none = filled.ok("/collections/mapped/map", {"filter": {"topic": "none"}})
    assert (none["points"], none["documents"], none["explained"]) == ([], 0, [0.0, 0.0])
    assert filled.ok("/collections/mapped/map", {"filter": {"no": 1}})["warnings"][0]["code"] == "unknown_filter_field"


def test_labels_are_short(api: Api) -> None:
    api.collection("long")
    sentence = "A cat sleeps on the warm windowsill. "
    api.store(
        "long",
        {"id": "a", "text": sentence * 100, "metadata": {"tags": ["x", "y"]}},
        {"id": "b", "text": "A train.", "metadata": {"tags": "z" * 300}},
    )
    first, second = api.ok("/collections/long/map", {"field": "tags"})["points"]
    assert (first["text"], first["value"]) == ((sentence * 100)[:200], "x")
    assert second["value"] == "z" * 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"limit": 0}, 422, "out_of_range"),
        ({"limit": 5001}, 422, "out_of_range"),
        ({"field": ""}, 422, "out_of_range"),
        ({"filter": {"a": {"above": 1}}}, 422, "bad_filter"),
        ({"color": "topic"}, 422, "unknown_field"),
        ({"min_version": "5f3a9c01d2e4:17:c4d1f09e"}, 409, "version_mismatch"),
    ],
)
def test_bad_requests_are_refused(filled: Api, body: dict[str, Any], status: int, code: str) -> None:
    answer = filled.post("/collections/mapped/map", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
