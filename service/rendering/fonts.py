"""Fonts of pictures, from pinned packages, so that all machines draw the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeAlias

from semblance.service.rendering.advances import advances

Language: TypeAlias = Literal["ja", "ko", "zh-Hans", "zh-Hant"]

BEGINNING = 5000  # characters of a text that tell its language and direction

_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9d]")
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
_FAMILIES: dict[Language, str] = {"ja": "JP", "ko": "KR", "zh-Hans": "SC", "zh-Hant": "TC"}
_BOX = 0.6  # width of what stands for a character without a font, in units of the font size
_UNASSIGNED = "\u0378"
_KINDS = re.compile(
    r" (?:CAPITAL|SMALL|LETTER|DIGIT|MARK|SYMBOL|SYLLAB|VOWEL|CONSONANT|SIGN|IDEOGRAPH|HIEROGLYPH|CHARACTER).*"
)
_ADDED = {"Mn", "Me", "Cf"}  # categories of characters that stay with the one before them


@dataclass(frozen=True, slots=True)
class Font:
    """A font file of a package, which is never imported.

    Attributes:
        package, file: where it is.
        family: its name; of East Asian characters, the beginning of the names for each language.
    """

    package: str
    file: str
    family: str

    @property
    def path(self) -> Path:
        """Of the file.

        Raises:
            RuntimeError: the package is not installed.
        """
        spec = find_spec(self.package)
        folders = spec.submodule_search_locations if spec else None
        path = Path(folders[0]) / self.file if folders else None
        if path is None or not path.is_file():
            raise RuntimeError(
                f"pictures need {self.file} of the Python package {self.package}, which is not installed"
            )
        return path

    def covers(self, character: str) -> bool:
        """Whether it has a character."""
        return ord(character) in _advances(self)


# Latin, Greek, Cyrillic, Armenian, Georgian, Arabic, Hebrew, Lao, symbols
BASE = Font("semblance_assets", "fonts/DejaVuSans.ttf", "DejaVu Sans")
_BOLD = Font("semblance_assets", "fonts/DejaVuSans-Bold.ttf", "DejaVu Sans")
# Chinese, Japanese and Korean, in the shapes of each
EAST_ASIAN = Font("noto_cjk_sans_otc", "NotoSansCJK-Regular.ttc", "Noto Sans CJK")
_SCRIPTS = (
    "Bengali",
    "Devanagari",
    "Ethiopic",
    "Gujarati",
    "Gurmukhi",
    "Kannada",
    "Khmer",
    "Malayalam",
    "Myanmar",
    "Oriya",
    "Sinhala",
    "Tamil",
    "Telugu",
    "Thai",
)
_FONTS = (  # the first one that has a character draws it
    BASE,
    EAST_ASIAN,
    *(Font("manimgx_fonts", f"NotoSans{script}[wght].ttf", f"Noto Sans {script}") for script in _SCRIPTS),
    Font("manimgx_fonts", "NotoEmoji[wght].ttf", "Noto Emoji"),
)


@cache
def font_files() -> tuple[str, ...]:
    """Paths of the font files.

    Raises:
        RuntimeError: a package is not installed.
    """
    return tuple(str(font.path) for font in (*_FONTS, _BOLD))


@cache
def font_of(character: str) -> Font | None:
    """The font that draws a character; None if no package has one.

    >>> font_of("я").family, font_of("ไ").family, font_of("漢").family, font_of("ཀ")
    ('DejaVu Sans', 'Noto Sans Thai', 'Noto Sans CJK', None)
    """
    return next((font for font in _FONTS if font.covers(character)), None)


@cache
def advance(character: str) -> float:
    """Width of a character in units of the font size; 0 for what is added to another.

    >>> advance("漢"), round(advance("a"), 2), advance(chr(0x301))
    (1.0, 0.61, 0.0)
    """
    category, font = unicodedata.category(character), font_of(character)
    if category == "Cf" or (font and category in _ADDED):
        return 0.0
    return _advances(font)[ord(character)] if font else _BOX


def missing_scripts(text: str, draw: Callable[[str], bytes]) -> list[str]:
    """Names of the scripts in a text for which neither a package nor the system has a font.

    Args:
        text: in which one character of each script stands for all.
        draw: draws a character by the fonts of both, as a box if it has none.

    >>> missing_scripts("བོད and ไทย", lambda character: b"a box")
    ['Tibetan']
    """
    letters = {_script(character): character for character in sorted(set(text)) if _needs_font(character)}
    box = draw(_UNASSIGNED) if letters else b""
    return sorted(script for script, character in letters.items() if draw(character) == box)


def _needs_font(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNPS" and font_of(character) is None


def _script(character: str) -> str:
    """Script of a character by its Unicode name.

    >>> _script("ཀ"), _script("𐎠"), _script("\N{MUSICAL SYMBOL G CLEF}"), _script("\ue000")
    ('Tibetan', 'Old Persian', 'Musical', 'U+E000')
    """
    return _KINDS.split(unicodedata.name(character, f"U+{ord(character):04X}"))[0].title()


@cache
def _advances(font: Font) -> dict[int, float]:
    return advances(font.path)


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


def font_family(font: Font, language: Language) -> str:
    """Value of `font-family` for characters of a font; a language selects East Asian shapes."""
    if font is EAST_ASIAN:
        return f"'Noto Sans CJK {_FAMILIES[language]}', 'Noto Sans {_FAMILIES[language]}', sans-serif"
    return f"'{font.family}', sans-serif"


def runs(text: str) -> Iterator[tuple[Font, str]]:
    """Split a text into runs of one font each, whose characters are drawn together.

    Spaces, digits and punctuation are in the font of the letters around them if that has them, and otherwise in the
    first one. The renderer must get each run by itself: in a text of several fonts it may draw letters of another run,
    or panic.

    >>> [(font.family, run) for font, run in runs("GPT は、गेहूँ, चावल.")]
    [('DejaVu Sans', 'GPT '), ('Noto Sans CJK', 'は、'), ('Noto Sans Devanagari', 'गेहूँ, चावल'), ('DejaVu Sans', '.')]
    """
    for font, run in groupby(zip(_run_fonts(text), text, strict=True), key=lambda pair: pair[0]):
        yield font, "".join(character for _, character in run)


def _run_fonts(text: str) -> Iterator[Font]:
    """The font of the run of each character."""
    letters = [None if _is_neutral(character) else font_of(character) or BASE for character in text]
    next_fonts, following = [], BASE
    for font in reversed(letters):
        following = font or following
        next_fonts.append(following)
    latest = current = BASE
    for character, font, following in zip(text, letters, reversed(next_fonts), strict=True):
        if font:
            latest = current = font
        elif unicodedata.category(character) not in _ADDED:
            current = latest if latest is following and latest.covers(character) else BASE
        yield current


def _is_neutral(character: str) -> bool:
    category = unicodedata.category(character)
    return category in _ADDED or (category[0] in "PSZN" and BASE.covers(character))
