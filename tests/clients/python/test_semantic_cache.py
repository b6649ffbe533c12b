"""The cache with RedisVL's methods: what carries over, and what is refused."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Iterator
from typing import Any

import pytest
from semblance_client import Client, Document, NotFound, SemanticCache

CARD, REWORDED, OTHER = "Can I pay by card?", "Is it possible to pay by card?", "Can I pay by cheque?"


@pytest.fixture
def cache(client: Client) -> Iterator[SemanticCache]:
    with SemanticCache("prompts", client=client) as made:
        yield made
    client.delete_collection("prompts")


def test_a_check_returns_the_entry_that_says_the_same(cache: SemanticCache) -> None:
    key = cache.store(CARD, "Yes.", metadata={"source": {"page": 3}}, filters={"shop": "rome", "size": 2})
    [hit] = cache.check(REWORDED)
    assert hit.pop("inserted_at") == pytest.approx(time.time(), abs=60)  # far from any other time
    entry = {"entry_id": key, "key": key, "prompt": CARD, "response": "Yes.", "metadata": {"source": {"page": 3}}}
    assert hit == {**entry, "shop": "rome", "size": 2}
    assert cache.check(REWORDED, return_fields=["response", "shop", "nothing"]) == [
        {"response": "Yes.", "shop": "rome", "key": key}
    ]
    assert cache.check(OTHER) == []


def test_filters_choose_among_entries(cache: SemanticCache) -> None:
    cache.store(CARD, "Yes.", filters={"shop": "rome", "size": 2})
    conditions: list[tuple[dict[str, Any], bool]] = [
        ({"shop": "rome"}, True),
        ({"shop": "oslo"}, False),
        ({"size": {"gte": 2}, "shop": "rome"}, True),
        ({"size": {"gt": 2}}, False),
        ({"inserted_at": {"gt": 0}}, True),
    ]
    for condition, found in conditions:
        assert bool(cache.check(REWORDED, filter_expression=condition)) is found


def test_entries_are_dropped_cleared_and_deleted(cache: SemanticCache, client: Client) -> None:
    client.add_documents([Document(id="1", text=CARD)], "prompts")
    keys = [cache.store(text, "x") for text in (CARD, OTHER, "Do you ship to Crete?")]
    cache.drop([keys[0]])
    cache.drop(keys=[keys[1]])
    assert [cache.check(text) != [] for text in (CARD, OTHER, "Do you ship to Crete?")] == [False, False, True]
    cache.clear()
    assert [each.id for each in client.documents("prompts").documents] == ["1"]
    other = SemanticCache("others", client=client)
    other.delete()
    with pytest.raises(NotFound):
        other.check(CARD)


def test_awaited_methods_do_the_same(client: Client) -> None:
    async def use() -> None:
        async with SemanticCache("awaited", client=client) as cache:
            key = await cache.astore(CARD, "Yes.")
            assert [hit["key"] for hit in await cache.acheck(REWORDED, num_results=1)] == [key]
            await cache.adrop([key])
            assert await cache.acheck(CARD) == []
            await cache.astore(CARD, "Yes.")
            await cache.aclear()
            assert client.documents("awaited").documents == []
            await cache.adelete()

    asyncio.run(use())
    with pytest.raises(NotFound):
        client.collection("awaited")


def test_responses_expire_as_the_cache_or_the_store_says(client: Client) -> None:
    cache = SemanticCache("expiring", ttl=3600, client=client)
    cache.store(CARD, "x")
    cache.store(OTHER, "x", ttl=7200)
    stored: list[Any] = client.documents("expiring").documents
    left = {each.text: each.metadata["cache_until"] - each.metadata["inserted_at"] for each in stored}
    assert left == {CARD: pytest.approx(3600, abs=60), OTHER: pytest.approx(7200, abs=60)}
    cache.delete()


def test_only_a_client_of_its_own_is_closed(url: str, monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    monkeypatch.setattr("semblance_client.semantic_cache.Client", lambda: Client(url))
    with SemanticCache("owned") as cache:
        cache.store(CARD, "x")
    with pytest.raises(RuntimeError, match="closed"):
        cache.check(CARD)
    with SemanticCache("owned", client=client) as again:
        pass
    assert again.check(CARD)
    again.delete()


class Tag:
    """Stands for a FilterExpression of RedisVL."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vector": [0.1]}, "vector has no counterpart: the service embeds the prompt"),
        ({"distance_threshold": 0.0}, "distance_threshold has no counterpart: a verdict decides"),
        ({"filter_expression": Tag()}, "Tag: write it as an object, such as {'shop': '1'}"),
        ({"num_results": 3}, "num_results=1"),
        ({"prompt": ""}, "a check needs a prompt"),
    ],
)
def test_a_check_refuses_what_it_cannot_do(cache: SemanticCache, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as refused:
        cache.check(**{"prompt": CARD, **arguments})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distance_threshold": 0.1}, "a verdict decides"),
        ({"vectorizer": object()}, "the model of the collection embeds"),
        (
            {"redis_url": "redis://x", "overwrite": True},
            "redis_url, overwrite: unknown settings; pass client=Client(url)",
        ),
    ],
)
def test_settings_of_redis_are_refused(client: Client, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as refused:
        SemanticCache("refused", client=client, **arguments)
    assert message in str(refused.value)
    assert all(each.name != "refused" for each in client.collections())


def test_a_store_refuses_vectors_and_names_of_fields(cache: SemanticCache, client: Client) -> None:
    refused: Any = [0.5]
    with pytest.raises(TypeError, match="vector has no counterpart"):
        cache.store(CARD, "x", refused)
    with pytest.raises(ValueError, match="prompt, metadata: choose other names"):
        cache.store(CARD, "x", filters={"metadata": 1, "prompt": 2})
    assert client.documents("prompts").documents == []


def test_arguments_have_the_order_of_redisvl() -> None:
    orders = {name: [*inspect.signature(getattr(SemanticCache, name)).parameters][1:] for name in ("check", "store")}
    assert orders == {
        "check": ["prompt", "vector", "num_results", "return_fields", "filter_expression", "distance_threshold"],
        "store": ["prompt", "response", "vector", "metadata", "filters", "ttl"],
    }
