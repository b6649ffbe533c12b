"""`semblance mcp` as a client of the Model Context Protocol starts it, in front of a running service."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.conftest import Api
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE

if TYPE_CHECKING:
    from mcp import Client, StdioServerParameters

PAIR = {"a": "my parcel never came", "b": "my package has not arrived"}


def server(url: str) -> StdioServerParameters:
    from mcp import StdioServerParameters  # which takes seconds

    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return StdioServerParameters(
        command=sys.executable, args=["-m", SEMBLANCE, "mcp", "--url", url], env=environment, cwd=PROJECT
    )


@pytest.fixture(scope="module")
async def client(url: str) -> AsyncIterator[Client]:
    from mcp import Client

    async with Client(server(url)) as client:
        yield client


async def test_the_tools_describe_themselves(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert client.server_info is not None
    assert client.server_info.name == "semblance"
    assert set(tools) == {"similarity", "search", "explain"}
    for tool in tools.values():
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
    assert tools["search"].input_schema["required"] == ["query"]


async def test_similarity_gives_the_scores_of_the_service(client: Client, api: Api) -> None:
    others = ["my package has not arrived", "It rains.", "mein Paket 📦"]
    answer: Any = await client.call_tool("similarity", {"text": PAIR["a"], "others": others, "measure": "rcmd"})
    pairs = [{"a": PAIR["a"], "b": other} for other in others]
    expected = api.ok("/similarity", {"pairs": pairs, "measure": "rcmd"})["scores"]
    found = answer.structured_content["result"]
    assert [each["text"] for each in found] == others
    assert [each["score"] for each in found] == pytest.approx(expected, abs=1e-5)


async def test_search_finds_and_explains_documents(client: Client, api: Api) -> None:
    options = {"k": 2, "filter": {"category": "shipping"}, "measure": "rcmd_words", "explain": True}
    answer: Any = await client.call_tool("search", {"query": PAIR["a"], **options})
    found = answer.structured_content["result"]
    [expected] = api.ok("/search", {"query": PAIR["a"], **options})["results"]
    assert [each["id"] for each in found] == [hit["id"] for hit in expected["hits"]]
    assert found[0]["metadata"]["category"] == "shipping"
    assert "by rcmd_words" in found[0]["why"]
    assert found[0]["rerank_score"] is None


async def test_explain_shows_the_words_behind_a_score(client: Client) -> None:
    answer: Any = await client.call_tool("explain", PAIR)
    assert "parcel = package" in answer.content[0].text


async def test_an_unknown_collection_is_told_the_known_ones(client: Client) -> None:
    answer: Any = await client.call_tool("search", {"query": "x", "collection": "nosuch"})
    assert "default" in answer.content[0].text.partition("the collections are: ")[2].split(", ")


async def test_refusals_tell_the_model_what_to_change(client: Client) -> None:
    for tool, arguments, reason in (
        ("search", {"query": "x", "collection": "nosuch"}, "no collection 'nosuch'; the collections are: "),
        ("search", {"query": "x", "collection": "a/b"}, "no collection 'a/b'; the collections are: "),
        ("search", {"query": "x", "k": 0}, "greater than or equal to 1"),
        ("search", {"query": "x", "filter": {"year": {"near": 1}}}, "/filter"),
        ("similarity", {"text": "a", "others": ["b"], "measure": "nosuch"}, "rcmd_words"),
        ("explain", {"a": " ", "b": "x"}, "visible character"),
    ):
        answer: Any = await client.call_tool(tool, arguments)
        assert answer.is_error
        assert reason in answer.content[0].text


async def test_an_unreachable_service_is_named() -> None:
    from mcp import Client

    async with Client(server("http://127.0.0.1:9")) as client:
        unreachable: Any = await client.call_tool("explain", PAIR)
    assert unreachable.is_error
    assert "127.0.0.1:9" in unreachable.content[0].text
