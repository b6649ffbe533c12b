"""Words that connect others and say little by themselves."""

from __future__ import annotations

_WORDS = """
a about all also am an and any are as at be because been but by can could did do does for from had has have he her him
his how i if in into is it its just me more my of on or our she should so some than that the their them then there
these they this those to too up us was we were what when where which who whose why will with would you your
"""

FUNCTION_WORDS = frozenset(_WORDS.split())
"""English ones, without negations, which change the meaning."""


def says_much(word: str) -> bool:
    """Whether a word has a letter or digit, and is not an English function word.

    >>> says_much("parcel"), says_much("The"), says_much("."), says_much("not"), says_much("漢")
    (True, False, False, True, True)
    """
    return any(character.isalnum() for character in word) and word.lower() not in FUNCTION_WORDS
