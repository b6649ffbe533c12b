"""POST /collections/{name}/map: principal components of the stored vectors."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_points_are_the_principal_components_of_scikit_learn(filled: Api) -> None:
    from sklearn.decomposition import PCA

    answer = filled.ok("/collections/mapped/map", {"field": "topic"})
    ids = [each["id"] for each in answer["points"]]
    assert ids == sorted(TEXTS)
    assert [(each["value"], each["text"]) for each in answer["points"]] == [TEXTS[each] for each in ids]
    body = {"model": "minilm-graded", "input": [TEXTS[each][1] for each in ids]}
    vectors = np.array([each["embedding"] for each in filled.ok("/v1/embeddings", body)["data"]])
    oracle = PCA(2, svd_solver="full")
    expected = oracle.fit_transform(vectors)
    places = np.array([[each["x"], each["y"]] for each in answer["points"]])
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
    assert (
        filled.ok("/collections/mapped/map", {"filter": {"no": 1}})["warnings"][0]["code"] == "unknown_metadata_field"
    )


def test_labels_are_short(api: Api) -> None:
    api.collection("labeled")
    long = "A cat sleeps on the warm windowsill. " * 10
    tags = (["x", "y"], "z" * 300)
    api.store("labeled", *({"id": str(i), "text": long, "metadata": {"tags": each}} for i, each in enumerate(tags)))
    points = api.ok("/collections/labeled/map", {"field": "tags"})["points"]
    assert [(each["text"], each["value"]) for each in points] == [(long[:200], "x"), (long[:200], "z" * 200)]
