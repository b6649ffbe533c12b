"""One response of those of the parts of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from semblance_client.errors import UnexpectedAnswer, moved
from semblance_client.vocabulary.other_apis import Embedding
from semblance_client.vocabulary.responses import RequestWarning, ResponseBody, TokenUsage, Usage

A = TypeVar("A", bound=ResponseBody)


def joined(field: str, responses: Sequence[A], starts: Sequence[int]) -> A:
    """One response: lists in order, positions in the whole list `field`, costs added up.

    Args:
        field: name of the list in the request.
        responses: the responses.
        starts: position of the first entry of each part.

    Raises:
        UnexpectedAnswer: parts have different models or measures, since the service was replaced meanwhile.
    """
    first = responses[0]
    update: dict[str, Any] = {}
    for name, value in first:
        values = [getattr(response, name) for response in responses]
        if isinstance(value, list):
            update[name] = [
                _moved(entry, field, start) for start, part in zip(starts, values, strict=True) for entry in part
            ]
        elif isinstance(value, Usage | TokenUsage):
            update[name] = type(value)(**{cost: sum(getattr(usage, cost) for usage in values) for cost, _ in value})
        elif any(other != value for other in values):
            raise UnexpectedAnswer(f"{name} changed between two parts of the call; repeat it")
    return first.model_copy(update=update)


def _moved(entry: object, field: str, start: int) -> object:
    """An entry of a response to the part that begins at `start`."""
    if isinstance(entry, RequestWarning):
        return entry.model_copy(update={"pointer": moved(entry.pointer, field, start)})
    if isinstance(entry, Embedding):
        return entry.model_copy(update={"index": entry.index + start})
    return entry
