"""Format numbers and user text as labels: legal XML, on one line, short, isolated."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from semblance.service.rendering.fonts import BEGINNING

SCORE_DECIMALS = 4
_MINUS = "\u2212"
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_MAX_IN_SENTENCE_EM = 40.0
# widths of ASCII in DejaVu Sans, the first font of pictures, in hundredths of the font size
_WIDTHS = {
    28: "'ijlIJ",
    33: " ,./:;\\|f-",
    40: "()[]t!r",
    50: '"*_`sz?c',
    58: "LFkvxyP",
    63: "TYaoeESbdghnpqu$0123456789{}",
    69: "KAVBRXZCU",
    77: "HNDG&OQ",
    84: "w#+<=>^~M",
    100: "%mW@\u2026",
}
_EM = {character: width / 100 for width, characters in _WIDTHS.items() for character in characters}


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


def short_signed(value: float, decimals: int) -> str:
    """Format with a sign, without the zero before the point, for cells; empty for zero.

    >>> short_signed(0.25, 2), short_signed(-1.5, 1), short_signed(0.001, 2)
    ('+.25', '−1.5', '')
    """
    digits = signed(value, decimals)
    if digits == plain(0.0, decimals):
        return ""
    return digits.replace("0.", ".", 1) if digits[1:].startswith("0.") else digits


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
    (2.0, 1.53)
    """
    return sum(_em(character) for character in text)


def wrap(text: str, max_em: float) -> list[str]:
    """Lines of a text as labels, none wider than `max_em`; a word that is wider is shortened.

    >>> wrap("one two three", 5.0)
    ['one two', 'three']
    """
    lines: list[str] = []
    for word in one_line(text).split(" "):
        short = shorten(word, max_em)
        if lines and em_width(f"{lines[-1]} {short}") <= max_em:
            lines[-1] += f" {short}"
        else:
            lines.append(short)
    return lines


def is_right_to_left(text: str) -> bool:
    """Whether a text is written to the left, by its first letter that has a direction.

    >>> is_right_to_left("1. שלום"), is_right_to_left("a שלום")
    (True, False)
    """
    directions = (unicodedata.bidirectional(character) for character in text[:BEGINNING])
    return next((direction for direction in directions if direction in {"L", "R", "AL"}), "L") != "L"


def shorten(text: str, max_em: float) -> str:
    """Replace the middle of a text that is wider than `max_em` by an ellipsis.

    >>> shorten("https://example.org/index.html", 8)
    'https:/…x.html'
    """
    if em_width(text) <= max_em:
        return text
    half = (max_em - _em("…")) / 2
    head, tail = _fitting(text, half), _fitting(text[::-1], half)[::-1]
    while tail and _em(tail[0]) == 0.0:  # a combining mark without its letter
        tail = tail[1:]
    return f"{head}…{tail}"


def beginning(text: str, max_em: float) -> str:
    """Format the beginning of a text as a label, with an ellipsis if it is not all.

    >>> beginning("A cat sits outside.", 6.0)
    'A cat sits…'
    """
    line = one_line(text)
    return line if em_width(line) <= max_em else f"{_fitting(line, max_em - _em('…')).rstrip()}…"


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
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return _EM.get(character, 0.75 if character.isupper() else 0.63)
