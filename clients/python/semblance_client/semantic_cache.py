"""A semantic cache with the methods of RedisVL's."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from semblance_client.client import Client
from semblance_client.errors import NotFound
from semblance_client.vocabulary.caches import SCOPE_FIELD

P = ParamSpec("P")
T = TypeVar("T")

FIELDS = ("entry_id", "prompt", "response", "inserted_at", "metadata", "key")
_REFUSED = {
    "vector": "the service embeds the prompt",
    "vectorizer": "the model of the collection embeds prompts",
    "distance_threshold": "a verdict decides, which tells opposites apart, not a distance",
}


def _awaited(
    method: Callable[Concatenate[SemanticCache, P], T],
) -> Callable[Concatenate[SemanticCache, P], Coroutine[Any, Any, T]]:
    """The same method in a thread."""

    @functools.wraps(method)
    async def awaited(cache: SemanticCache, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, cache, *args, **kwargs)

    return awaited


class SemanticCache:
    """Semantic cache with the methods of RedisVL's, where a verdict decides about hits.

    What has no counterpart is refused: vectors, a vectorizer, a distance, settings of Redis. Other than in
    `redisvl.extensions.cache.llm`, hits have no `vector_distance` and do not prolong the `ttl`, and a prompt has one
    response, whatever its filters.

    Args:
        name: of the collection, which is created if it is missing.
        distance_threshold: refused.
        ttl: seconds for which responses count by default.
        vectorizer: refused.
        filterable_fields: not needed; every field of `filters` can be filtered by.
        client: client of the service; by default one of this computer. A `with` block closes only the latter.

    Raises:
        TypeError: an argument has no counterpart.
        SemblanceError: the service rejected a request, or could not be reached; likewise of each method.

    Example:
        >>> cache = SemanticCache("prompts", client=client)
        >>> key = cache.store("Can I pay by card?", "Yes.", filters={"shop": "1"})
        >>> [hit] = cache.check("Is it possible to pay by card?", filter_expression={"shop": "1"})
        >>> hit["response"], hit["prompt"], hit["shop"], hit["key"] == key
        ('Yes.', 'Can I pay by card?', '1', True)
    """

    def __init__(
        self,
        name: str = "llmcache",
        distance_threshold: None = None,
        ttl: int | None = None,
        vectorizer: None = None,
        filterable_fields: object = None,
        *,
        client: Client | None = None,
        **redis: object,
    ) -> None:
        del filterable_fields
        _refuse(distance_threshold=distance_threshold, vectorizer=vectorizer)
        if redis:
            raise TypeError(f"{', '.join(redis)}: unknown settings; pass client=Client(url) with the URL of Semblance")
        self.name = name
        self.ttl = ttl
        self._owns_client = client is None
        self._client = client or Client()
        try:
            self._client.collection(name)
        except NotFound:
            self._client.create_collection(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        """Close the client, unless it was given."""
        if self._owns_client:
            self._client.close()

    def check(
        self,
        prompt: str | None = None,
        vector: None = None,
        num_results: int = 1,
        return_fields: Sequence[str] | None = None,
        filter_expression: Any = None,
        distance_threshold: None = None,
    ) -> list[dict[str, Any]]:
        """Get the entry that says the same as a prompt, in a list; an empty one without.

        Args:
            prompt: the prompt.
            vector: refused.
            num_results: 1, as only the likeliest entry answers.
            return_fields: fields of the entry to return, beside `key`.
            filter_expression: conditions on `filters`, as in a search, such as `{"shop": "1"}`.
            distance_threshold: refused.

        Returns:
            `entry_id` and `key` (both the id), `prompt`, `response`, `inserted_at` (seconds since 1970), `metadata`
            if it has any, and the fields of its `filters`.

        Raises:
            TypeError: an argument has no counterpart, such as a FilterExpression of RedisVL.
            ValueError: the prompt is missing, or `num_results` is not 1.
        """
        _refuse(vector=vector, distance_threshold=distance_threshold)
        if not prompt:
            raise ValueError("a check needs a prompt")
        if num_results != 1:
            raise ValueError("only the likeliest entry answers: num_results=1")
        if filter_expression is not None and not isinstance(filter_expression, Mapping):
            kind = type(filter_expression).__name__
            raise TypeError(f"{kind}: write it as an object, such as {{'shop': '1'}} or {{'size': {{'gte': 2}}}}")
        entry = self._client.look_up(self.name, prompt, filter=filter_expression).hit
        if entry is None:
            return []
        hit = {"entry_id": entry.id, "prompt": entry.text, "response": entry.answer, **entry.metadata}
        return [{**{field: hit[field] for field in return_fields or hit if field in hit}, "key": entry.id}]

    def store(
        self,
        prompt: str,
        response: str,
        vector: None = None,
        metadata: Mapping[str, Any] | None = None,
        filters: Mapping[str, Any] | None = None,
        ttl: int | None = None,
    ) -> str:
        """Store the response to a prompt, in place of that of the same prompt. Returns its key.

        Args:
            prompt: the prompt.
            response: the response.
            vector: refused.
            metadata: any JSON, which comes back with the response.
            filters: values by which a check may filter; they come back, too.
            ttl: seconds for which it counts.

        Raises:
            TypeError: a vector was given.
            ValueError: `filters` have the name of another field.
        """
        _refuse(vector=vector)
        fields = dict(filters or {})
        if taken := [field for field in FIELDS if field in fields]:
            raise ValueError(f"filters: every entry has its own {', '.join(taken)}: choose other names")
        fields |= {"inserted_at": time.time()} | ({} if metadata is None else {"metadata": dict(metadata)})
        return self._client.store_answer(self.name, prompt, response, metadata=fields, ttl_s=ttl or self.ttl).id

    def drop(self, ids: Sequence[str] | None = None, keys: Sequence[str] | None = None) -> None:
        """Delete entries, by their ids or keys, which are the same."""
        self._client.delete_documents([*(ids or ()), *(keys or ())], self.name)

    def clear(self) -> None:
        """Delete all entries, and leave the collection."""
        self._client.delete_documents(collection=self.name, filter={SCOPE_FIELD: {"exists": True}})

    def delete(self) -> None:
        """Delete the collection with everything in it."""
        self._client.delete_collection(self.name)

    acheck = _awaited(check)
    astore = _awaited(store)
    adrop = _awaited(drop)
    aclear = _awaited(clear)
    adelete = _awaited(delete)


def _refuse(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{name} has no counterpart: {_REFUSED[name]}")
