"""A semantic cache for the answers of language models."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
from semblance_client import Client
from semblance_client.conversation import digest_of, question_of
from semblance_client.vocabulary.caches import SCOPE_FIELD

ANSWERS = [AIMessage, AIMessageChunk, ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk]
OWN = "langchain"  # in the scope of each answer: a digest of the model and the conversation

log = logging.getLogger(__name__)


class SemblanceCache(BaseCache):
    """Answers a prompt by the stored answer of one that says the same.

    Of a chat, the words of the last message are compared; the messages before it, and the model with its parameters,
    have to be equal. Errors of a lookup or an update are logged, and the model is asked.

    Args:
        client: client of the service.
        collection: where the answers are.
        scope: names and values that have to be equal, too, such as `{"tenant": "acme"}`.
        ttl_s: seconds for which answers count.

    Raises:
        ValueError: the scope has the name `langchain`.
    """

    def __init__(
        self, client: Client, collection: str, *, scope: Mapping[str, str] | None = None, ttl_s: int | None = None
    ) -> None:
        self.client = client
        self.collection = collection
        self.scope = dict(scope or {})
        self.ttl_s = ttl_s
        if OWN in self.scope:
            raise ValueError(f"scope: the cache has a value of the name {OWN!r} itself")

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """The answer of a prompt that says the same; None without one, or after an error."""
        try:
            text, scope = self._asked(prompt, llm_string)
            hit = self.client.look_up(self.collection, text, scope=scope).hit
            return None if hit is None else list(loads(hit.answer, allowed_objects=ANSWERS))
        except Exception as error:  # noqa: BLE001 - an application does not fail for its cache
            log.warning("The cache could not be read, so the model is asked: %s", error)
            return None

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store the answer of a prompt; an error is logged."""
        try:
            text, scope = self._asked(prompt, llm_string)
            answer = dumps(list(return_val))  # a text, since the service limits the depth of objects
            kept = {"scope": scope, "metadata": self.scope, "ttl_s": self.ttl_s, "tokens": _tokens(return_val)}
            self.client.store_answer(self.collection, text, answer, **kept)
        except Exception as error:  # noqa: BLE001 - likewise
            log.warning("The answer could not be stored: %s", error)

    def clear(self, **kwargs: Any) -> None:
        """Delete the answers whose scope has the values of this cache.

        Without values, all answers of the collection are deleted.

        Raises:
            TypeError: arguments are given, of which it has none.
            SemblanceError: the service rejected it, or could not be reached.
        """
        if kwargs:
            raise TypeError(f"clear takes no {', '.join(kwargs)}: it deletes the answers of its scope")
        self.client.delete_documents(collection=self.collection, filter={**self.scope, SCOPE_FIELD: {"exists": True}})

    def _asked(self, prompt: str, llm_string: str) -> tuple[str, dict[str, str]]:
        """The text to compare and the scope."""
        messages = _messages(prompt)
        text, context = prompt, ""
        if messages:
            text, context = question_of(messages, from_user=messages[-1].get("type") == "human")
        return text, {**self.scope, OWN: digest_of([llm_string, context])}


def _messages(prompt: str) -> list[dict[str, Any]]:
    """The messages of a prompt of a chat model; none of another."""
    try:
        parsed = json.loads(prompt)
    except ValueError:
        return []
    serialized = isinstance(parsed, list) and all(isinstance(each, dict) and "lc" in each for each in parsed)
    fields = [each.get("kwargs") for each in parsed] if serialized else []
    return fields if all(isinstance(each, dict) for each in fields) else []


def _tokens(answers: RETURN_VAL_TYPE) -> int | None:
    """The tokens that the answers cost, as far as their messages say it."""
    usages = [getattr(getattr(each, "message", None), "usage_metadata", None) for each in answers]
    return sum(usage["total_tokens"] for usage in usages if usage) or None
