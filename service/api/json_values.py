"""How much a JSON text holds, told without parsing it."""

from __future__ import annotations

MOST_VALUES = 100_000


class JsonValues:
    """Counts entries of lists and objects as a text comes in, in pieces cut anywhere.

    Parsing holds the interpreter's lock to the end: eight megabytes of text take it 10 ms, but as many of `[],[],[]`
    two seconds in which nobody is answered. What is within a string does not count. A valid text has at most one entry
    more than `count` says; one in UTF-16 or UTF-32, which quotes do not delimit, counts by its zero bytes.
    """

    def __init__(self) -> None:
        self.count = 0
        self._in_string = False
        self._escaped = False

    def add(self, piece: bytes) -> None:
        """The next piece of the text."""
        if self._escaped and piece:
            piece = piece[1:]
        elif self._escaped:
            return
        piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        self._escaped = piece.endswith(b"\\")
        parts = piece.split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        self.count += sum(map(outside.count, (b",", b"[", b"{"))) + piece.count(b"\0")

    @property
    def too_many(self) -> bool:
        """Whether the text should not be parsed."""
        return self.count > MOST_VALUES


def too_many_values(text: bytes) -> bool:
    """Whether a whole text should not be parsed."""
    if len(text) <= MOST_VALUES:
        return False
    values = JsonValues()
    values.add(text)
    return values.too_many
