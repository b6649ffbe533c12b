"""Direction of writing: isolate texts, and order words that are drawn one by one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby

from semblance.service.rendering.fonts import BEGINNING

_RIGHT_TO_LEFT_ISOLATE, _FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2067", "\u2068", "\u2069"
_TO_LEFT = {"R", "AL", "AN"}
# a letter for each class of characters; all others, such as spaces, are neutral
_LETTERS = {"L": "L", "R": "R", "AL": "A", "EN": "E", "AN": "N", "ES": "S", "ET": "T", "CS": "C", "NSM": "M"}
_CLOSING = {
    "(": ")",
    "[": "]",
    "{": "}",
    "（": "）",
    "［": "］",
    "「": "」",
    "『": "』",
    "《": "》",
    "〈": "〉",
    "【": "】",
}
_STRONG = re.compile("[EN]")  # numbers count as written to the left
_LEVELS = {"L": (0, 2), "R": (1, 1), "E": (2, 2), "N": (2, 2)}  # in texts to the right and to the left


def is_right_to_left(text: str) -> bool:
    """Whether a text is written to the left, by its first letter that has a direction.

    >>> is_right_to_left("1. שלום"), is_right_to_left("a שלום")
    (True, False)
    """
    directions = (unicodedata.bidirectional(character) for character in text[:BEGINNING])
    return next((direction for direction in directions if direction in {"L", "R", "AL"}), "L") != "L"


def isolated(text: str, *, to_left: bool = False) -> str:
    """Wrap right-to-left text in isolating marks, so that it does not reorder its neighbors.

    Only for text without direction controls (see `labels.one_line`): one of them could close the isolate early.

    Args:
        text: to wrap.
        to_left: whether it is part of a text that is written to the left, where parentheses are mirrored.
    """
    if to_left:
        return _RIGHT_TO_LEFT_ISOLATE + text + _POP_ISOLATE
    if any(unicodedata.bidirectional(character) in _TO_LEFT for character in text):
        return _FIRST_STRONG_ISOLATE + text + _POP_ISOLATE
    return text


def levels_of(text: str) -> list[int]:
    """Level of each character: even ones are written to the right, odd ones to the left.

    The direction of the text is that of its first letter. Direction controls are neutral, since pictures leave them
    out.

    Source: unicode-uax9, rules W1 to W7, N0 to N2, I1 and I2.

    >>> levels_of("a אב, גד 3.5")
    [0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2]
    """
    base = is_right_to_left(text)
    if not base and not any(unicodedata.bidirectional(character) in _TO_LEFT for character in text):
        return [0] * len(text)
    edge = "R" if base else "L"
    letters = "".join(_LETTERS.get(unicodedata.bidirectional(character), "O") for character in text)
    weak = _weak(edge + letters)[1:]
    resolved = _neutral(edge + _brackets(weak, text, edge) + edge, edge)[1:-1]
    return [_LEVELS[letter][base] for letter in resolved]


def _weak(letters: str) -> str:
    """Rules W1 to W7: marks, numbers and what stands between numbers."""
    letters = re.sub("(.)M+", lambda found: found[1] * len(found[0]), letters)
    letters = re.sub("A[^LRA]*", lambda found: found[0].replace("E", "N"), letters).replace("A", "R")
    letters = re.sub("(?<=E)[SC](?=E)", "E", letters)
    letters = re.sub("(?<=N)C(?=N)", "N", letters)
    letters = re.sub("T+(?=E)|(?<=E)T+", lambda found: "E" * len(found[0]), letters)
    letters = re.sub("[STC]", "O", letters)
    return re.sub("L[^LR]*", lambda found: found[0].replace("E", "L"), letters)


def _brackets(letters: str, text: str, edge: str) -> str:
    """Rule N0: a pair of brackets has the direction of the text, or the other of both sides."""
    resolved = [*letters]
    for start, end in _pairs(letters, text):
        inside, before = (_STRONG.sub("R", "".join(resolved[part])) for part in (slice(start, end), slice(start)))
        if edge in inside:
            resolved[start] = resolved[end] = edge
        elif {"L", "R"} & {*inside}:
            resolved[start] = resolved[end] = next((side for side in reversed(before) if side in "LR"), edge)
    return "".join(resolved)


def _pairs(letters: str, text: str) -> list[tuple[int, int]]:
    """Places of the brackets of each pair, by those of the opening ones."""
    opened: list[tuple[str, int]] = []
    pairs = []
    for place, character in enumerate(text):
        if letters[place] == "O" and character in _CLOSING:
            opened.append((_CLOSING[character], place))
        elif character in _CLOSING.values() and any(closing == character for closing, _ in opened):
            while opened[-1][0] != character:
                opened.pop()
            pairs.append((opened.pop()[1], place))
    return sorted(pairs)


def _neutral(letters: str, edge: str) -> str:
    """Rules N1, N2: neutral characters have the direction on both sides, or of the text."""
    letters = re.sub("(?<=L)O+(?=L)", lambda found: "L" * len(found[0]), letters)
    letters = re.sub("(?<=[REN])O+(?=[REN])", lambda found: "R" * len(found[0]), letters)
    return letters.replace("O", edge)


def visual_order(levels: Sequence[int]) -> list[int]:
    """The places of the characters of a line, by their levels, from the left to the right.

    Source: unicode-uax9, rule L2.

    >>> visual_order([1, 1, 2, 2, 1])
    [4, 2, 3, 1, 0]
    """
    order = list(range(len(levels)))
    for level in range(max(levels, default=0), 0, -1):
        order = [
            place
            for is_turned, places in groupby(order, key=lambda place: levels[place] >= level)
            for place in (reversed([*places]) if is_turned else places)
        ]
    return order


def places_in_line(levels: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int]:
    """Parts of a line from the left to the right.

    Args:
        levels: of all characters of the line, spaces included.
        spans: first and one-past-last character of each part.

    >>> places_in_line([1, 1, 1, 2, 2, 1, 2, 2], [(0, 2), (3, 5), (6, 8)])
    [2, 1, 0]
    """
    seen = {place: rank for rank, place in enumerate(visual_order(levels))}
    return sorted(range(len(spans)), key=lambda i: min(seen[place] for place in range(*spans[i])))
