r"""One form of a word for all of its spellings, so that each finds the others.

Upper case becomes lower case, and characters their compatible form (NFKC), so that full-width and ligature forms are
plain ones. Accents, vowel points, elongation and characters that are not seen are left out. What Unicode does not take
apart is replaced by what people type in its place:

* A Latin letter with a stroke, hook or tail by the letter of its name, as decomposition does for accents: Łódź is lodz,
  and ø is o as ö is, although Danes also write oe: å is a by decomposition, too, and one word has one form. Letters of
  two are two (æ, œ, ß), others what the languages that use them write without them (þ th, ŋ n, ə and ɛ e, ɣ gh).
  Phonetic signs that no language writes otherwise stay as they are.
* Arabic and Persian forms of a letter by one: alef with hamza, madda or wasla by alef; alef maksura, Farsi yeh and yeh
  barree by yeh; keheh by kaf; teh marbuta and the forms of heh by heh. Hamza on waw and yeh makes another word.
* Decimal digits of any script by 0 to 9, dashes by a hyphen, and apostrophes that are letters by an apostrophe.
"""

from __future__ import annotations

import re
import unicodedata

DASHES = (  # of Unicode's property Dash, besides the hyphen, and those that NFKC makes one of these
    "\u058a\u05be\u1400\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u2053\u207b\u208b\u2212\u2e17\u2e1a\u2e3a\u2e3b"
    "\u2e40\u2e5d\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\uff0d\U00010ead"
)
APOSTROPHES = "\u2018\u2019\u02bb\u02bc\ua78c"  # quotes, and the letters of Hawaiian, Uzbek, Ukrainian and others
DIGIT_POINT = "\u066b"  # of Arabic numbers
FRACTION_SLASH = "\u2044"  # of ½ in its compatible form
UNSEEN = (  # a class: Unicode's Default_Ignorable_Code_Point without U+200B and fillers, and interlinear marks
    r"\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_IGNORED = re.compile(
    r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # accents, and what surrounds a character
    r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # points of Hebrew
    r"\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic
    r"\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff"
    r"\u00b7\u02be\u02bf"  # the dot in ŀ, and half rings, which are left out where Arabic is transliterated
    rf"\u115f\u1160\u200b{UNSEEN}]"  # fillers of Hangul; not seen
)
_LATIN_BLOCKS = (
    (0xC0, 0x2B0),
    (0x1D00, 0x1DC0),
    (0x1E00, 0x1F00),
    (0x2C60, 0x2C80),
    (0xA720, 0xA800),
    (0xAB30, 0xAB70),
)
_LATIN_NAME = re.compile(
    r"LATIN (?:(?:SMALL|CAPITAL|LETTER|LIGATURE) )+"
    r"(?:(?:BARRED|BLACKLETTER|BROKEN|DOTLESS|INSULAR|LONG|MIDDLE-WELSH|OPEN|SCRIPT|VISIGOTHIC|VOLAPUK) )?"
    r"([A-Z]+)(?: BAR| DIGRAPH| ROTUNDA)?(?: WITH .+)?"
)
_LATIN_NAMES = {
    "ALPHA": "a",
    "BETA": "b",
    "ENG": "n",
    "ETH": "d",
    "EZH": "z",
    "GAMMA": "gh",
    "IOTA": "i",
    "KRA": "q",
    "OI": "gh",  # the name in Unicode of gha
    "SCHWA": "e",
    "THORN": "th",
    "UPSILON": "u",
    "WYNN": "w",
}
_ALEF, _YEH, _KAF, _HEH = "\u0627\u064a\u0643\u0647"
_HAMZA = "\u0653\u0654\u0655"  # madda, hamza above and below
_ARABIC = {
    **dict.fromkeys("\u0671\u0672\u0673", _ALEF),
    **dict.fromkeys("\u0649\u06cc\u06d2", _YEH),
    **dict.fromkeys("\u06a9\u06aa", _KAF),
    **dict.fromkeys("\u0629\u06c1\u06c3\u06d5", _HEH),
}


def fold(word: str) -> str:
    """The form of a word, or of words that are joined; empty if nothing of it is left.

    >>> [fold(word) for word in ("Łódź", "København", "Straße", "AB‑１２", "أحمد", "کتاب۱۲")]
    ['lodz', 'kobenhavn', 'strasse', 'ab-12', 'احمد', 'كتاب12']
    """
    if word.isascii():
        return word.lower()
    folded = _IGNORED.sub("", unicodedata.normalize("NFKD", word).casefold())
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _OTHERS.sub(_replacement, folded))
    return folded.strip(" '")


def _latin_letters() -> dict[str, str]:
    """Latin letters that have no decomposition, with the letters of their names."""
    letters = {"\u01dd": "e"}  # turned e, which African languages write as others write schwa
    for character in (chr(code) for block in _LATIN_BLOCKS for code in range(*block)):
        named = _LATIN_NAME.fullmatch(unicodedata.name(character, ""))
        if named and not unicodedata.decomposition(character):
            name = named[1]
            if name in _LATIN_NAMES or len(name) <= 2:
                letters[character] = _LATIN_NAMES.get(name, name.lower())
    return letters


def _replacement(match: re.Match[str]) -> str:
    character = match[0]
    if character in _HAMZA:
        before = match.string[match.start() - 1 : match.start()]
        return "" if before and before in _SEATS + _HAMZA else character
    return _REPLACEMENTS[character] if character in _REPLACEMENTS else str(int(character))


_REPLACEMENTS = {
    **_latin_letters(),
    **_ARABIC,
    **dict.fromkeys(DASHES, "-"),
    **dict.fromkeys(APOSTROPHES, "'"),
    DIGIT_POINT: ".",
    FRACTION_SLASH: "/",
}
_SEATS = _ALEF + _HEH + "".join(form for form, letter in _ARABIC.items() if letter in _ALEF + _HEH)
_OTHERS = re.compile(rf"[{_HAMZA}{''.join(_REPLACEMENTS)}\d]")
