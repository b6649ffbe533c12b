"""Words that say little by themselves, in the languages of `function_words.txt`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from unicodedata import category

import regex

from semblance.models.files.word_lists import words_by_language

_LEAST = 2  # function words of Latin letters that tell a language, but for the first one, English
_SYMBOLS = ("So", "Sc")  # categories of pictographs and currencies
_LATIN = regex.compile(r"\p{Latin}")


def say_much(words: Sequence[str]) -> list[bool]:
    """Whether each word is neither punctuation nor a function word of the text's language.

    Digits, pictographs (emoji) and signs of currency say much, other symbols do not.

    >>> say_much(["The", "parcel", "is", "not", "here", "."])
    [False, True, False, True, True, False]
    >>> say_much(["Die", "Maschine", "war", "kaputt"]), say_much(["to", "die", "in", "the", "war"])
    ([False, True, False, True], [False, True, False, False, True])
    """
    folded = [word.casefold() for word in words]
    return _say_much(folded, _counts(folded))


def _say_much(folded: Sequence[str], counts: Counter[str]) -> list[bool]:
    known = _lists().get(_language(folded, counts) or "", frozenset())
    return [word not in known and (word.isalnum() or any(map(_means, word))) for word in folded]


def _means(character: str) -> bool:
    return character.isalnum() or category(character) in _SYMBOLS


def is_function_word(word: str) -> bool:
    """Whether a word is a function word of any language.

    >>> is_function_word("durch"), is_function_word("Dutch")
    (True, False)
    """
    return word.casefold() in _languages()


def language_of(words: Sequence[str]) -> str | None:
    """The code of the language of which most function words occur in a text.

    Of several, the first one; English, if there are none and a letter is Latin; None if it cannot be told.

    >>> language_of(["Wo", "ist", "mein", "Paket"]), language_of(["deafness"]), language_of(["Д"])
    ('de', 'en', None)
    """
    return _language(words, _counts(word.casefold() for word in words))


def _language(words: Sequence[str], counts: Counter[str]) -> str | None:
    """`language_of` words, from the counts of their function words."""
    most = max(counts.values(), default=0)
    best = next(language for language in _lists() if counts.get(language, 0) == most)
    if most >= _LEAST or best not in _latin_languages():
        return best
    first = next(iter(_lists()))
    return best if best == first and (counts[best] or _LATIN.search("".join(words))) else None


def likeliest_language(words: Sequence[str], languages: Sequence[str]) -> str | None:
    """The language of a text, which is taken to be one of some languages if it may be.

    Of the languages that the text may be in, that of which most function words occur in it; of several, the first one.
    Texts with letters, but without Latin ones, are in another language, unless they have function words.

    >>> likeliest_language(["Das", "ist", "da"], ["en"]), likeliest_language(["Das", "Paket"], ["en", "de"])
    ('de', 'de')
    """
    folded = [word.casefold() for word in words]
    return _likeliest(folded, _counts(folded), languages)


def likeliest_and_content(folded: Sequence[str], languages: Sequence[str]) -> tuple[str | None, list[bool]]:
    """Results of `likeliest_language` and `say_much` for words in lower case, counted once."""
    counts = _counts(folded)
    return _likeliest(folded, counts, languages), _say_much(folded, counts)


def _likeliest(words: Sequence[str], counts: Counter[str], languages: Sequence[str]) -> str | None:
    text = "".join(words)
    latin = _LATIN.search(text) or not any(map(str.isalpha, text))
    possible = [language for language in languages if _is_possible(language, counts) and (latin or counts[language])]
    return max(possible, key=counts.__getitem__) if possible else _language(words, counts)


def _is_possible(language: str, counts: Counter[str]) -> bool:
    """Whether a text may be in a language: no other has two more of its function words."""
    return max(counts.values(), default=0) - counts[language] < _LEAST


def _counts(words: Iterable[str]) -> Counter[str]:
    """Counts of the function words of each language that occur, of words in lower case."""
    languages = _languages()
    return Counter(language for word in words if word in languages for language in languages[word])


@cache
def _latin_languages() -> frozenset[str]:
    """The languages of Latin letters."""
    return frozenset(language for language, words in _lists().items() if _LATIN.search("".join(words)))


@cache
def _languages() -> Mapping[str, Sequence[str]]:
    """The languages of each function word."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for language, words in _lists().items():
        for word in words:
            found[word].append(language)
    return dict(found)


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    """The function words of each language."""
    return words_by_language("semblance.models.tokenization", "function_words.txt")
