"""Format numbers and user text as labels: legal XML, on one line, short, isolated."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

SCORE_DECIMALS = 4
_MINUS = "\u2212"
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_MAX_IN_SENTENCE_EM = 40.0
_WIDE_LETTERS = frozenset("MWmw@%\u2026")


def plain(value: float, decimals: int) -> str:
    """Format with a minus sign (U+2212), and none for zero.

    >>> plain(-0.25, 2), plain(-0.001, 2)
    ('−0.25', '0.00')
    """
    digits = f"{abs(value):.{decimals}f}"
    negative = value < 0 and any(digit in digits for digit in "123456789")
    return (_MINUS if negative else "") + digits


def signed(value: float, decimals: int) -> str:
    """Format with a plus or minus sign, except for zero.

    >>> signed(0.25, 2), signed(0.0, 2)
    ('+0.25', '0.00')
    """
    digits = plain(value, decimals)
    return "+" + digits if value > 0 and digits != plain(0.0, decimals) else digits


def decimals_for(limit: float) -> int:
    """Decimals that show two significant digits of numbers up to `limit`: usually three.

    >>> decimals_for(0.5), decimals_for(0.0042), decimals_for(0.0), decimals_for(38.1)
    (3, 4, 3, 2)
    """
    if limit <= 0:
        return 3
    magnitude = math.floor(math.log10(limit))
    return max(3 - magnitude, 0) if magnitude > 0 else min(max(3, 1 - magnitude), 9)


def rounded_parts(parts: Sequence[float], total: float, decimals: int) -> tuple[float, ...]:
    """Round the parts so that they sum to the rounded total, as in a table of percentages.

    The remainder goes to the parts with the largest rounding errors, one last digit each. A difference too large to
    come from rounding is not hidden.

    >>> rounded_parts([0.25, 0.25, 0.0], 0.5, 1)
    (0.3, 0.2, 0.0)
    """
    unit: float = 10.0**decimals
    counts = [round(part * unit) for part in parts]
    missing = round(round(total, decimals) * unit) - sum(counts)  # rounded as it is printed
    if abs(missing) <= len(counts) // 2 + 1:
        sign = 1 if missing > 0 else -1
        by_error = sorted(range(len(parts)), key=lambda i: sign * (counts[i] - parts[i] * unit))
        for i in by_error[: abs(missing)]:
            counts[i] += sign
    return tuple(count / unit for count in counts)


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Two to six round numbers from `low` to `high` for an axis, each with its label.

    >>> ticks(0.0, 0.83)
    [(0.0, '0.0'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8')]
    """
    rough = (high - low) / 4.5
    exponent = math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 5, 10) if factor * 10.0**exponent >= rough)
    decimals = max(0, -exponent - (factor == 10))
    step = factor * 10.0**exponent
    places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [(round(i * step, decimals), plain(i * step, decimals)) for i in places]


def legal(text: str) -> str:
    """Replace each character that XML 1.0 forbids by U+FFFD.

    >>> legal("a" + chr(0) + "b" + chr(0xFFFE))
    'a�b�'
    """
    return _ILLEGAL.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Remove line breaks and direction controls; an open box if nothing visible is left.

    >>> one_line("a   b" + chr(0x202E)), one_line("  ")
    ('a b', '␣')
    """
    return " ".join(_BIDI_CONTROLS.sub("", legal(text)).split()) or "\u2423"


def isolated(text: str) -> str:
    """Wrap right-to-left text in isolating marks, so that it does not reorder its neighbors.

    Only for text without direction controls (see `one_line`): one of them could close the isolate early.
    """
    right_to_left = any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in text)
    return _FIRST_STRONG_ISOLATE + text + _POP_ISOLATE if right_to_left else text


def em_width(text: str) -> float:
    """Estimate the width of a text in units of the font size; the viewer's font is not known.

    >>> em_width("漢字"), round(em_width("cat"), 2)
    (2.0, 1.8)
    """
    return sum(_em(character) for character in text)


def shorten(text: str, max_em: float) -> str:
    """Replace the middle of a text that is wider than `max_em` by an ellipsis.

    >>> shorten("https://example.org/index.html", 8)
    'https….html'
    """
    if em_width(text) <= max_em:
        return text
    half = (max_em - _em("…")) / 2
    head, tail = _fitting(text, half), _fitting(text[::-1], half)[::-1]
    while tail and _em(tail[0]) == 0.0:  # a combining mark without its letter
        tail = tail[1:]
    return f"{head}…{tail}"


def label(text: str, max_em: float) -> str:
    """Format a text as a label on one line."""
    return shorten(one_line(text), max_em)


def in_sentence(text: str) -> str:
    """Format a text as part of a sentence, in a tooltip."""
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
