"""Fonts of pictures, from pinned packages, so that all machines draw the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["ja", "ko", "zh-Hans", "zh-Hant"]

BEGINNING = 5000  # characters of a text that tell its language and direction

_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9d]")
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
_FAMILIES: dict[Language, str] = {"ja": "JP", "ko": "KR", "zh-Hans": "SC", "zh-Hant": "TC"}

# DejaVu Sans: Latin, Greek, Cyrillic, Armenian, Georgian, Arabic, Hebrew, symbols. Noto Sans CJK: Chinese, Japanese,
# Korean, in the shapes of each. Only files of the packages are used: they are never imported.
_FILES = (
    ("semblance_assets", "fonts/DejaVuSans.ttf"),
    ("semblance_assets", "fonts/DejaVuSans-Bold.ttf"),
    ("noto_cjk_sans_otc", "NotoSansCJK-Regular.ttc"),
)


@cache
def font_files() -> tuple[str, ...]:
    """Paths of the font files.

    Raises:
        RuntimeError: a package is not installed.
    """
    return tuple(str(_file(package, name)) for package, name in _FILES)


def _file(package: str, name: str) -> Path:
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0]) / name if folders else None
    if path is None or not path.is_file():
        raise RuntimeError(f"pictures need {name} of the Python package {package}, which is not installed")
    return path


def language_of(text: str) -> Language:
    """Language of a text's Han characters, by its beginning: it decides their shapes.

    Chinese is traditional if Big5 covers more of the text than GB 2312.

    >>> language_of("骨が折れた"), language_of("骨头断了"), language_of("骨頭斷了")
    ('ja', 'zh-Hans', 'zh-Hant')
    """
    text = text[:BEGINNING]
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    simplified, traditional = (len(text.encode(charset, "ignore")) for charset in ("gb2312", "big5"))
    return "zh-Hant" if traditional > simplified else "zh-Hans"


def font_family(language: Language) -> str:
    """Value of `font-family` for East Asian characters of a language."""
    return f"'Noto Sans CJK {_FAMILIES[language]}', 'Noto Sans {_FAMILIES[language]}', sans-serif"


def runs(text: str) -> Iterator[tuple[bool, str]]:
    """Split a text into runs, each with whether it needs an East Asian font.

    In a mixed text with one font, resvg falls back to another font only if the number of glyphs stays the same; a run
    that names its font is safe.

    >>> list(runs("GPT は、"))
    [(False, 'GPT '), (True, 'は、')]
    """
    start = 0
    asian: bool | None = None
    for position, character in enumerate(text):
        if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
            continue  # combining marks stay with their letter
        needs = _east_asian(character)
        if asian is not None and needs != asian:
            yield asian, text[start:position]
            start = position
        asian = needs
    if text:
        yield bool(asian), text[start:]


def _east_asian(character: str) -> bool:
    # emoji are wide too, but are in other fonts
    return unicodedata.east_asian_width(character) in "WFH" and unicodedata.category(character) != "So"
