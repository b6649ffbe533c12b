"""Forms of Arabic letters in a word, where they are narrower than alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache

_ARABIC = re.compile("[\u0620-\u06ff]")
_FORMS = (*range(0xFB50, 0xFE00), *range(0xFE70, 0xFEFD))  # code points of the forms of single letters and ligatures
_KINDS = {(False, False): "isolated", (False, True): "initial", (True, True): "medial", (True, False): "final"}


def joined(text: str) -> str:
    """The text without marks, with the form of each Arabic letter, to measure its width.

    >>> [unicodedata.name(form)[14:] for form in joined("باب")]
    ['BEH INITIAL FORM', 'ALEF FINAL FORM', 'BEH ISOLATED FORM']
    """
    return "".join(_joined(text)) if _ARABIC.search(text) else text


def _joined(text: str) -> Iterator[str]:
    letters = [character for character in text if unicodedata.category(character) != "Mn"]
    forms = _forms()
    for before, letter, after in zip(["", *letters], letters, [*letters[1:], ""], strict=False):
        to_before = ("initial", before) in forms and ("final", letter) in forms
        to_after = ("initial", letter) in forms and ("final", after) in forms
        yield forms.get((_KINDS[to_before, to_after], letter), letter)


@cache
def _forms() -> Mapping[tuple[str, str], str]:
    """The character of each form of a letter, by decompositions such as <medial> 0628."""
    found = {chr(code): unicodedata.decomposition(chr(code)).split() for code in _FORMS}
    return {(parts[0].strip("<>"), chr(int(parts[1], 16))): form for form, parts in found.items() if len(parts) == 2}
