"""Lists that exceed a limit of the service are sent in parts, whose responses equal that of the whole list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from semblance_client import BadRequest, Client, ListCall, Retries, SemblanceError, UnexpectedAnswer
from semblance_client.calls import texts
from semblance_client.calls.parts import joined
from semblance_client.steps import Request

from tests.clients.python.conftest import Connect
from tests.support.running_service import running_service

TEXTS = [f"story {i}" for i in range(6)] + ["私の荷物が届かない", "word " * 300]
PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))
NO_RETRIES = Retries(1)


@pytest.fixture(scope="module")
def limited() -> Iterator[str]:
    """A service that takes three texts, or two explanations, at once."""
    with running_service(models="minilm", max_texts="3", max_explained="2") as url:
        yield url


@pytest.fixture(scope="module")
def whole() -> Iterator[Client]:
    with running_service(models="minilm") as url, Client(url) as client:
        yield client


def numbers(body: dict[str, Any]) -> Any:
    """A response without digits that depend on the batch."""
    return json.loads(json.dumps(body), parse_float=lambda number: round(float(number), 4))


def test_vectors_of_parts_equal_those_of_the_whole(connect: Connect, limited: str, whole: Client) -> None:
    expected = whole.embed(TEXTS, "minilm", truncate="END")
    found = connect(limited).embed(TEXTS, "minilm", truncate="END")
    assert numbers(found.model_dump()) == numbers(expected.model_dump())
    assert [each.index for each in found.data] == list(range(len(TEXTS)))
    assert [each.pointer for each in found.warnings] == ["/input/6"]
    assert found.truncated == [False] * 7 + [True]


@pytest.mark.parametrize("options", [{}, {"explain": True, "measure": "rcmd"}])
def test_scores_of_parts_equal_those_of_the_whole(
    connect: Connect, limited: str, whole: Client, options: dict[str, Any]
) -> None:
    expected = whole.similarity(PAIRS, **options)
    found = connect(limited).similarity(PAIRS, **options)
    warnings = {"warnings"}
    assert numbers(found.model_dump(exclude=warnings)) == numbers(expected.model_dump(exclude=warnings))
    places = ["/pairs/1/b", "/pairs/6/a"]
    assert sorted(each.pointer for each in expected.warnings) == [each.pointer for each in found.warnings] == places


@pytest.mark.parametrize("place", range(8))
def test_an_error_names_its_place_in_the_whole_list(connect: Connect, limited: str, place: int) -> None:
    given = [*TEXTS[:place], "", *TEXTS[place + 1 :]]
    with pytest.raises(BadRequest) as refused:
        connect(limited).embed(given, "minilm", truncate="END")
    [problem] = refused.value.problems
    assert (problem.pointer, problem.code) == (f"/input/{place}", "empty_text")
    assert str(refused.value) == f"POST /v1/embeddings: 400 /input/{place}: it has no visible character"
    assert refused.value.message == f"/input/{place}: it has no visible character"


def test_one_entry_over_a_limit_is_an_error(connect: Connect, limited: str) -> None:
    with pytest.raises(BadRequest, match="/pairs: it must not be empty"):
        connect(limited).similarity([])
    with pytest.raises(BadRequest) as refused:
        connect(limited).embed(["a", "x" * 100_001], "minilm")
    assert refused.value.problems[0].code == "text_too_long"


class LimitedService:
    """Answers a request by the lengths of its texts, up to `most` texts and `most_bytes` of body."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self.most, self.most_bytes, self.sizes = most, most_bytes, list[int]()

    def answer(self, request: Request) -> httpx2.Response:
        assert request.content is not None
        given = json.loads(request.content)["input"]
        self.sizes.append(len(given))
        if len(request.content) > self.most_bytes:
            return httpx2.Response(413, json={"code": "body_too_large", "detail": "too large"})
        if len(given) > self.most:
            problem = {"pointer": "/input", "code": "out_of_range", "detail": "too many"}
            return httpx2.Response(400, json={"code": "out_of_range", "detail": "too many", "errors": [problem]})
        data = [{"index": i, "embedding": [float(len(text))]} for i, text in enumerate(given)]
        warnings = [{"pointer": f"/input/{i}", "code": "c", "detail": "d"} for i, text in enumerate(given) if not text]
        usage = {"prompt_tokens": len(given), "total_tokens": 2 * len(given)}
        body = {"data": data, "model": "m", "space": "s", "truncated": [len(text) > 3 for text in given]}
        return httpx2.Response(200, json={**body, "warnings": warnings, "usage": usage})


def ask(call: ListCall[Any], service: LimitedService) -> Any:
    steps = call.steps(NO_RETRIES)
    try:
        request = next(steps)
        while True:
            request = steps.send(service.answer(request))
    except StopIteration as end:
        return end.value


@given(
    given=st.lists(st.text("ab", max_size=5), min_size=1, max_size=40),
    most=st.integers(1, 45),
    most_bytes=st.integers(60, 400),
)
def test_parts_keep_order_and_equal_the_whole(given: Sequence[str], most: int, most_bytes: int) -> None:
    call = texts.embed(given, "m")
    limited = LimitedService(most, most_bytes)
    found = ask(call, limited)
    assert found == ask(call, LimitedService(10**9, 10**9))
    accepted = [size for size in limited.sizes if size <= most]
    assert len(limited.sizes) <= len(given) + 7, "a limit is found by halves, once"
    assert accepted


def test_other_refusals_are_not_split() -> None:
    service = LimitedService(10, 10)
    with pytest.raises(SemblanceError, match="too large"):
        ask(texts.embed(["a", "b", "c"], "m"), service)
    assert service.sizes == [3, 2, 1]


def test_parts_of_different_models_are_not_joined() -> None:
    parts = [ask(texts.embed([text], "m"), LimitedService(9, 999)) for text in "ab"]
    other = parts[1].model_copy(update={"space": "other"})
    with pytest.raises(UnexpectedAnswer, match="space changed between two parts"):
        joined("input", [parts[0], other], [0, 1])
