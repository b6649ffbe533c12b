"""The text of a document that is searched: its own, and the strings of some metadata fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

_BETWEEN = "\n\n"  # two parts, which no passage joins


class TextPart(NamedTuple):
    """First and one-past-last code point of a part, and its metadata field; None is the text."""

    field: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SearchedText:
    """The parts of a document, one after the other, in which passages have their places."""

    whole: str
    parts: Sequence[TextPart]

    @classmethod
    def of(cls, text: str, metadata: Mapping[str, Any], fields: Sequence[str]) -> Self:
        """The text of a document, and then those fields that have a string.

        >>> SearchedText.of("It was late.", {"title": "Parcel"}, ["title"]).parts[1]
        TextPart(field='title', start=14, end=20)
        """
        whole, parts = text, [TextPart(None, 0, len(text))]
        for field in fields:
            if isinstance(value := metadata.get(field), str):
                start = len(whole) + len(_BETWEEN)
                whole += _BETWEEN + value
                parts.append(TextPart(field, start, len(whole)))
        return cls(whole, parts)

    def part_at(self, place: int) -> TextPart:
        """The part that has the code point at a place."""
        return next(part for part in reversed(self.parts) if part.start <= place)
