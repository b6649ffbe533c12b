"""Which characters need an East Asian font, and the one that the text's language asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["ja", "ko", "zh-Hans", "zh-Hant"]

_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9d]")
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
_FAMILIES: dict[Language, str] = {"ja": "JP", "ko": "KR", "zh-Hans": "SC", "zh-Hant": "TC"}


def language_of(text: str) -> Language:
    """The language to draw a text's Chinese characters for; Unicode gives one code to shapes that differ by country.

    Chinese is traditional if the character set of Taiwan covers more of the text than that of the mainland.

    >>> language_of("骨が折れた"), language_of("骨头断了"), language_of("骨頭斷了")
    ('ja', 'zh-Hans', 'zh-Hant')
    """
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    simplified, traditional = (len(text.encode(charset, "ignore")) for charset in ("gb2312", "big5"))
    return "zh-Hant" if traditional > simplified else "zh-Hans"


def font_family(language: Language) -> str:
    """Value of `font-family` for East Asian characters of the language."""
    return f"'Noto Sans CJK {_FAMILIES[language]}', 'Noto Sans {_FAMILIES[language]}', sans-serif"


def runs(text: str) -> Iterator[tuple[bool, str]]:
    """The text in stretches, each with whether it needs an East Asian font.

    Given one font for a mixed text, resvg swaps fonts only as long as every letter keeps its number of glyphs; a
    stretch that names its font is safe.

    >>> list(runs("GPT は、"))
    [(False, 'GPT '), (True, 'は、')]
    """
    start = 0
    asian: bool | None = None
    for position, character in enumerate(text):
        if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
            continue  # marks stay with the letter they sit on
        needs = _east_asian(character)
        if asian is not None and needs != asian:
            yield asian, text[start:position]
            start = position
        asian = needs
    if text:
        yield bool(asian), text[start:]


def _east_asian(character: str) -> bool:
    # Emoji are as wide, but live in other fonts.
    return unicodedata.east_asian_width(character) in "WFH" and unicodedata.category(character) != "So"
