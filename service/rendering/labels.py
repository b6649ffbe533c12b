"""Format numbers and user text as labels: legal XML, on one line, short, isolated."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate, takewhile

import regex

from semblance.service.rendering.direction import isolated
from semblance.service.rendering.fonts import advance
from semblance.service.rendering.joining import joined

SCORE_DECIMALS = 4
_MINUS = "\u2212"
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CLUSTERS = regex.compile(r"\X")  # what a reader takes for one character
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_MAX_IN_SENTENCE_EM = 40.0
ROOM = 1.04


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


def drawn_width(text: str) -> float:
    """Width of a text in the fonts of pictures, in units of the font size.

    >>> drawn_width("漢字"), round(drawn_width("cat"), 2)
    (2.0, 1.55)
    """
    return sum(advance(character) for character in joined(text))


def em_width(text: str) -> float:
    """The same, with room for viewers that have other fonts.

    >>> em_width("漢字"), round(em_width("cat"), 2)
    (2.08, 1.62)
    """
    return ROOM * drawn_width(text)


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


def shorten(text: str, max_em: float) -> str:
    """Replace the middle of a text wider than `max_em` by an ellipsis, between clusters.

    >>> shorten("https://example.org/index.html", 8)
    'https:/…x.html'
    """
    if em_width(text) <= max_em:
        return text
    half = (max_em - em_width("…")) / 2
    clusters = _CLUSTERS.findall(text)
    head = _fitting(clusters, half)
    tail = _fitting(clusters[::-1], half)[::-1]
    return f"{''.join(head)}…{''.join(tail)}"


def beginning(text: str, max_em: float) -> str:
    """Format the beginning of a text as a label, with an ellipsis if it is not all.

    >>> beginning("A cat sits outside.", 6.0)
    'A cat sits…'
    """
    line = one_line(text)
    if em_width(line) <= max_em:
        return line
    return "".join(_fitting(_CLUSTERS.findall(line), max_em - em_width("…"))).rstrip() + "…"


def label(text: str, max_em: float) -> str:
    """Format a text as a label on one line."""
    return shorten(one_line(text), max_em)


def in_sentence(text: str) -> str:
    """Format a text as part of a sentence, in a tooltip."""
    return isolated(label(text, _MAX_IN_SENTENCE_EM))


def _fitting(clusters: Sequence[str], max_em: float) -> Sequence[str]:
    """The longest beginning that fits the width."""
    widths = accumulate(em_width(cluster) for cluster in clusters)
    return clusters[: sum(1 for _ in takewhile(lambda width: width <= max_em, widths))]
