"""A semantic cache for chat completions."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from litellm.caching.base_cache import BaseCache
from litellm.caching.caching import Cache, CacheMode
from litellm.types.caching import LiteLLMCacheType
from semblance_client import Client, SemblanceError
from semblance_client.conversation import digest_of, question_of

log = logging.getLogger(__name__)


class SemblanceCache(Cache):
    """Answers a chat by the completion of one whose last message says the same.

    It is the value of `litellm.cache`.

    The messages before it, the model with its parameters, and what LiteLLM keeps apart (`namespace`, and the key, team
    and organization of a proxy's caller) have to be equal. Other calls than chat completions are not cached. Errors are
    logged, and the model is asked.

    Args:
        client: client of the service.
        collection: where the completions are.
        ttl: seconds for which they count; by default without end, other than a call says by `cache={"ttl": 60}`.
        namespace: kept apart from others.
        mode: whether calls have to ask for the cache.
        semantic_cache_scope: `end_user` keeps apart the users of a proxy's caller, too.
        max_messages: longer chats are not cached; None for any length.
    """

    def __init__(  # noqa: PLR0913 - those of LiteLLM
        self,
        client: Client,
        collection: str,
        *,
        ttl: float | None = None,
        namespace: str | None = None,
        mode: CacheMode = CacheMode.default_on,
        semantic_cache_scope: str = "key",
        max_messages: int | None = 4,
    ) -> None:
        super().__init__(
            type=LiteLLMCacheType.QDRANT_SEMANTIC,  # of all semantic ones, the key is without the messages
            _backend=_Completions(client, collection),
            supported_call_types=["completion", "acompletion"],
            ttl=ttl,
            namespace=namespace,
            mode=mode,
            semantic_cache_scope=semantic_cache_scope,
            max_messages=max_messages,
        )


class _Completions(BaseCache):  # type: ignore[misc]  # mypy does not see its package
    """Looks completions up and stores them, where LiteLLM has a database."""

    def __init__(self, client: Client, collection: str) -> None:
        super().__init__()
        self._client = client
        self._collection = collection

    def get_cache(self, key: str, **kwargs: Any) -> Any:
        """The completion of a chat; None without one, or after an error."""
        text, scope = _asked(key, kwargs["messages"])
        try:
            hit = self._client.look_up(self._collection, text, scope=scope).hit
        except SemblanceError as error:
            log.warning("The cache could not be read, so the model is asked: %s", error)
            return None
        return None if hit is None else hit.answer

    def set_cache(self, key: str, value: Any, **kwargs: Any) -> None:
        """Store the completion of a chat. LiteLLM logs errors."""
        text, scope = _asked(key, kwargs["messages"])
        ttl = kwargs.get("ttl")
        kept = {"scope": scope, "ttl_s": None if ttl is None else int(ttl), "tokens": _tokens(value)}
        self._client.store_answer(self._collection, text, value, **kept)

    async def async_get_cache(self, key: str, **kwargs: Any) -> Any:
        """The same in a thread."""
        return await asyncio.to_thread(self.get_cache, key, **kwargs)

    async def async_set_cache(self, key: str, value: Any, **kwargs: Any) -> None:
        """The same in a thread."""
        await asyncio.to_thread(self.set_cache, key, value, **kwargs)

    async def async_set_cache_pipeline(self, cache_list: list[tuple[str, Any]], **kwargs: Any) -> None:
        """Of embeddings, which are not cached."""

    async def disconnect(self) -> None:
        """Leave the client open, which is its owner's."""


def _asked(key: str, messages: list[Any]) -> tuple[str, dict[str, str]]:
    """The text to compare and the scope."""
    last = messages[-1]
    text, context = question_of(messages, from_user=isinstance(last, Mapping) and last.get("role") == "user")
    return text, {"litellm": digest_of([key, context])}


def _tokens(value: Any) -> int | None:
    """The tokens that a completion cost, if it says so."""
    completion = json.loads(value["response"])
    return (completion.get("usage") or {}).get("total_tokens")
