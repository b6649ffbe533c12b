"""POST /score and /pooling, as vLLM has them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tests.integration.conftest import Api

CAT, KITTEN, RAIN = "A cat sleeps.", "The kitten naps.", "It rains."


def scores(api: Api, path: str = "/score", **body: Any) -> list[float]:
    answer = api.ok(path, body)
    assert [each["index"] for each in answer["data"]] == list(range(len(answer["data"])))
    assert {each["object"] for each in answer["data"]} == {"score"}
    return [each["score"] for each in answer["data"]]


@pytest.mark.parametrize(
    ("path", "left", "right"),
    [
        ("/score", "text_1", "text_2"),
        ("/v1/score", "text_1", "text_2"),
        ("/score", "queries", "documents"),
        ("/score", "queries", "items"),
        ("/score", "data_1", "data_2"),
    ],
)
def test_scores_are_those_of_similarity(api: Api, path: str, left: str, right: str) -> None:
    for measure in ("cosine", "rcmd"):
        expected = api.scores((CAT, KITTEN), (CAT, RAIN), measure=measure)
        model = f"minilm-graded@{measure}"
        assert scores(api, path, model=model, **{left: CAT, right: [KITTEN, RAIN]}) == expected
        assert scores(api, path, measure=measure, **{left: [CAT, CAT], right: [KITTEN, RAIN]}) == expected
        assert scores(api, path, model=model, **{left: CAT, right: KITTEN}) == expected[:1]
    answer = api.ok(path, {left: CAT, right: KITTEN, "truncate_prompt_tokens": -1})
    assert (answer["object"], answer["model"], answer["measure"]) == ("list", "minilm-graded", "cosine")
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > 6


def test_pooled_vectors_of_texts_are_those_of_embeddings(api: Api) -> None:
    body = {"model": "minilm", "input": [CAT, RAIN]}
    expected = [each["embedding"] for each in api.ok("/v1/embeddings", body)["data"]]
    answer = api.ok("/pooling", {**body, "task": "embed"})
    assert [each["data"] for each in answer["data"]] == expected
    assert [each["shape"] for each in answer["data"]] == [[384], [384]]


def test_token_vectors_come_as_numbers_or_base64(api: Api) -> None:
    body = {"model": "minilm", "input": [CAT, RAIN], "task": "token_embed"}
    as_numbers, as_base64 = (api.ok("/pooling", {**body, "encoding_format": name}) for name in ("float", "base64"))
    for one, other in zip(as_numbers["data"], as_base64["data"], strict=True):
        decoded = np.frombuffer(base64.b64decode(other["data"]), "<f4").reshape(other["shape"])
        assert np.array_equal(np.array(one["data"], np.float32), decoded)
        assert other["shape"] == one["shape"] == list(decoded.shape)
    assert as_numbers["usage"]["prompt_tokens"] == sum(each["shape"][0] for each in as_numbers["data"])
