"""Text of strangers made fit for a label: legal, on one line, short, and unable to disturb its neighbours."""

from __future__ import annotations

import re
import unicodedata

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_MAX_IN_SENTENCE_EM = 40.0
_WIDE_LETTERS = frozenset("MWmw@%\u2026")


def legal(text: str) -> str:
    """The text with U+FFFD for each character that XML 1.0 forbids; as long as before.

    >>> legal("a" + chr(0) + "b" + chr(0xFFFE))
    'a�b�'
    """
    return _ILLEGAL.sub("\ufffd", text)


def one_line(text: str) -> str:
    """The text without line breaks and controls of direction; an open box where nothing visible is left.

    >>> one_line("a   b" + chr(0x202E)), one_line("  ")
    ('a b', '␣')
    """
    return " ".join(_BIDI_CONTROLS.sub("", legal(text)).split()) or "\u2423"


def isolated(text: str) -> str:
    """The text between marks that keep its direction to itself; as it is where all of it runs left to right.

    Holds for text without controls of direction of its own (`one_line`): a stray one could close the isolate early.
    """
    turns = any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in text)
    return _FIRST_STRONG_ISOLATE + text + _POP_ISOLATE if turns else text


def em_width(text: str) -> float:
    """About how wide the text is, in units of the font size; the viewer's font is not known.

    >>> em_width("漢字"), round(em_width("cat"), 2)
    (2.0, 1.8)
    """
    return sum(_em(character) for character in text)


def shorten(text: str, max_em: float) -> str:
    """The text with an ellipsis for its middle, if it is wider than `max_em`.

    >>> shorten("https://example.org/index.html", 8)
    'https….html'
    """
    if em_width(text) <= max_em:
        return text
    half = (max_em - _em("…")) / 2
    head, tail = _fitting(text, half), _fitting(text[::-1], half)[::-1]
    while tail and _em(tail[0]) == 0.0:  # a mark that has lost the letter it sat on
        tail = tail[1:]
    return f"{head}…{tail}"


def label(text: str, max_em: float) -> str:
    """The text as a label: on one line, and short."""
    return shorten(one_line(text), max_em)


def in_sentence(text: str) -> str:
    """The text as part of a sentence, in a tooltip."""
    return isolated(label(text, _MAX_IN_SENTENCE_EM))


def _fitting(text: str, max_em: float) -> str:
    width = 0.0
    for end, character in enumerate(text):
        width += _em(character)
        if width > max_em:
            return text[:end]
    return text


def _em(character: str) -> float:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character in _WIDE_LETTERS:
        return 1.0
    return 0.75 if character.isupper() else 0.6
