"""Numbers, texts, arrays and tables of NumPy and pandas are sent as JSON has them."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from semblance_client import BadRequest, Client, RejectedDocuments

from tests.clients.python.conftest import Connect

PARCEL = "my parcel never came"


@pytest.fixture
def name(client: Client, request: pytest.FixtureRequest) -> str:
    made = f"values-{abs(hash(request.node.name))}"
    client.create_collection(made)
    return made


def test_parameters_may_be_scalars_and_arrays_of_numpy(connect: Connect, url: str) -> None:
    client: Any = connect(url)
    plain = client.search([PARCEL], k=3, min_score=0.25, filter={"category": {"in": ["shipping", "orders"]}})
    categories = np.array(["shipping", "orders"])
    given = client.search(
        np.array([PARCEL]), k=np.int64(3), min_score=np.float32(0.25), filter={"category": {"in": categories}}
    )
    assert given.model_dump() == plain.model_dump()
    assert client.search(np.str_(PARCEL), k=np.int8(1)).hits == client.search(PARCEL, k=1).hits
    texts = np.array(["A cat sleeps.", "It rains."])
    assert client.similarity(np.array([texts])).scores == client.similarity([(texts[0], texts[1])]).scores
    assert client.embed(texts, np.str_("minilm"), dimensions=np.int32(8)).vectors == (
        client.embed(list(texts), "minilm", dimensions=8).vectors
    )
    ranking = client.rerank(texts[0], texts, top_n=np.int64(1), explain=np.bool_(False))
    assert [result.index for result in ranking.results] == [0]


def test_metadata_may_be_scalars_and_arrays_of_numpy(client: Any, name: str) -> None:
    metadata = {
        "year": np.int64(2025),
        "share": np.float32(0.5),
        "kind": np.str_("note"),
        "open": np.bool_(True),
        "tags": np.array(["a", "b"]),
        "day": date(2026, 11, 27),
        "moment": np.datetime64("2026-11-27T12:30"),
    }
    client.add_documents([{"id": np.str_("1"), "text": np.str_("A lamp."), "metadata": metadata}], name)
    assert client.document("1", name).metadata == {
        "year": 2025,
        "share": 0.5,
        "kind": "note",
        "open": True,
        "tags": ["a", "b"],
        "day": "2026-11-27",
        "moment": "2026-11-27T12:30:00",
    }


@pytest.mark.parametrize("number", [math.nan, np.float32("nan"), np.inf])
def test_numbers_that_are_not_finite_are_named(client: Any, name: str, number: float) -> None:
    document = {"id": "1", "text": "A lamp.", "metadata": {"year": number}}
    with pytest.raises(BadRequest) as refused:
        client.add_documents([document], name)
    places = [(part.pointer, part.code) for part in refused.value.problems]
    assert places == [("/documents/0/metadata", "not_finite")]
    with pytest.raises(RejectedDocuments, match="document 1, metadata: year: NaN and infinity"):
        client.upload([document], name)
    with pytest.raises(BadRequest) as refused:
        client.search(PARCEL, min_score=number)
    assert [(part.pointer, part.code) for part in refused.value.problems] == [("/min_score", "not_finite")]


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", pd.NA, 1j])
def test_values_that_json_lacks_are_named(client: Any, name: str, value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(TypeError, match=f"of the type {kind} cannot be sent"):
        client.add_documents([{"id": "1", "text": "A lamp.", "metadata": {"x": value}}], name)
    with pytest.raises(TypeError, match="a document is a Document or a dictionary, not of the type int"):
        client.upload([1], name)


def test_a_data_frame_is_uploaded_by_its_columns(connect: Connect, url: str, name: str) -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "text": ["The lamp flickers.", "The door squeaks."],
            "year": [2025, None],
            "kind": [None, "note"],
            "day": pd.to_datetime(["2026-11-27", None]),
        }
    )
    client: Any = connect(url)
    assert client.upload(frame, name).upserted == 2
    stored = {each.id: each.metadata for each in client.documents(name).documents}
    assert stored == {"1": {"year": 2025.0, "day": "2026-11-27T00:00:00"}, "2": {"kind": "note"}}


def test_failed_rows_of_a_data_frame_raise_at_the_end(client: Any, name: str) -> None:
    frame = pd.DataFrame({"id": ["1", "2", "3"], "text": ["The lamp flickers.", None, " "], "metadata": [{"a": 1}] * 3})
    with pytest.raises(RejectedDocuments) as rejected:
        client.upload(frame, name)
    result = rejected.value.result
    assert [(part.line, part.field, part.code) for part in result.refused] == [
        (2, "text", "missing_field"),
        (3, "text", "empty_text"),
    ]
    assert (result.upserted, result.failed) == (1, 2)
    assert client.document("1", name).metadata == {"a": 1}


def test_a_data_frame_without_texts_is_refused(client: Any, name: str) -> None:
    with pytest.raises(ValueError, match=r"no column text: it has \['id', 'title'\]"):
        client.upload(pd.DataFrame({"id": [1], "title": ["a"]}), name)


def test_records_are_the_rows_of_a_data_frame_and_back(client: Any, name: str) -> None:
    frame = pd.DataFrame({"id": ["1", "2"], "text": ["The lamp flickers.", "The door squeaks."], "score": [3, 5]})
    client.upload(frame, name)
    again = pd.DataFrame(each.record() for each in client.all_documents(name))
    pd.testing.assert_frame_equal(again, frame)
    hits = client.search("a noisy door", name, explain=True, measure="rcmd_words").hits
    found = pd.DataFrame(each.record() for each in hits)
    assert [*found.columns] == ["id", "score", "text", "metadata.score"]
    assert [*found["metadata.score"]] == [5, 3]
    links = pd.DataFrame(hits[0].explanation.records())
    assert links.contribution.sum() + hits[0].explanation.rest == pytest.approx(found.score[0], abs=1e-6)
    assert {"door"} <= {*links.a} & {*links.b}


def test_columns_of_a_data_frame_are_lists_of_texts(client: Any) -> None:
    frame = pd.DataFrame({"a": ["A cat sleeps.", "It rains."], "b": ["A cat naps.", "The sun shines."]}, index=[7, 3])
    pairs = [*zip(frame.a, frame.b, strict=True)]
    assert client.similarity(frame[["a", "b"]].itertuples(index=False)).scores == client.similarity(pairs).scores
    assert client.embed(frame.a, "minilm").vectors == client.embed([*frame.a], "minilm").vectors
    assert client.similarity_matrix(frame.a, frame.b).scores == client.similarity_matrix([*frame.a], [*frame.b]).scores
