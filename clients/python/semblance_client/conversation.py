"""The question of a conversation, by which a semantic cache finds its answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def question_of(messages: Sequence[Any], *, from_user: bool) -> tuple[str, str]:
    """Get the words of the last message, and a digest of everything else.

    Both are a digest of the whole where only the same conversation may have the answer: the last message is not a
    user's, such as the result of a tool, or has anything else than text, such as an image.

    Args:
        messages: objects with `content`, as chat APIs have them: a text or a list of parts.
        from_user: whether the last is a user's.

    Example:
        >>> question, context = question_of([{"role": "user", "content": "Is it late?"}], from_user=True)
        >>> question, len(context)
        ('Is it late?', 64)
    """
    *before, last = messages
    parts = _text_parts(last.get("content")) if from_user else []
    words = "\n".join(part["text"] for part in parts)
    if not words.strip():
        whole = digest_of(messages)
        return whole, whole
    return words, digest_of([*before, {**last, "content": [{**part, "text": None} for part in parts]}])


def digest_of(content: object) -> str:
    """Get a digest of JSON, in which other objects count by their texts."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _text_parts(content: object) -> list[Mapping[str, Any]]:
    """The parts of a message; none if one is not a text."""
    given = content if isinstance(content, list) else [content]
    parts: list[Any] = [{"type": "text", "text": each} if isinstance(each, str) else each for each in given]
    return parts if all(map(_is_text, parts)) else []


def _is_text(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)
