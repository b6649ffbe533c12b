"""Split a text into the terms of a lexical search.

A term is a word in the form of `fold`. Words that are joined, as in E-4711, no.12/3 or don't, are a term each, and if
there is a digit, so are they together, whatever dash joins them: then E-4711 is not the same as E 4711. A term with
digits and something else, or with many digits, is a code, and the words of a joined one are its parts. Scripts without
spaces between words, and Korean, which joins particles to them, have characters and pairs of characters as terms. A
pictograph (emoji) is a term in any color of skin and with any variation selector, a flag is one, and a sequence has
those of its parts. Characters that are not seen are not part of a word. The zero-width space ends a word, as in the
word boundaries of Unicode (UAX 29), only where words have no other spaces; elsewhere it is a place to break a line.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import regex
from Stemmer import Stemmer

from semblance.models.tokenization.folding import APOSTROPHES, DASHES, DIGIT_POINT, UNSEEN, fold

_LONG_VOWELS = "ー\uff70"  # of kana; between other letters or digits, Japanese keyboards write a dash with it
_UNSPACED = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    rf"{_LONG_VOWELS}\uff9e\uff9f]--\p{{Nd}}]"
)
_MARK = rf"[\p{{M}}{UNSEEN}]"
_JOINER = rf"\-./_@:'{DASHES}{APOSTROPHES}{DIGIT_POINT}{_LONG_VOWELS}．／＿＠：＇"
_COMMON = "a-zA-Z0-9À-ÖØ-öø-ɏЀ-ҁ\u0620-\u064a"  # letters that the next class has, too, found faster
_LETTER = rf"[[\p{{L}}\p{{N}}]--{_UNSPACED}--[{APOSTROPHES}]]"
_WORD = rf"(?:(?:[{_COMMON}]++|{_LETTER})[{_MARK}\u200b]*+)++"
_PICTOGRAPH = (
    r"\p{Regional_Indicator}{2}|[\p{Extended_Pictographic}--[©®™‼⁉]][\U000e0020-\U000e007f]*"  # tags: of flags
)
_CHUNK = regex.compile(
    rf"(?P<joined>{_WORD}(?:[{_JOINER}][{UNSEEN}\u200b]*{_WORD})*)"
    rf"|(?![\x00-\x7f])(?:(?P<unspaced>(?:{_UNSPACED}{_MARK}*)+)"
    rf"|(?P<pictograph>{_PICTOGRAPH})[\p{{Emoji_Modifier}}{UNSEEN}]*)",
    regex.V1,
)
_ASCII_CHUNK = re.compile(r"[a-z0-9]+(?:[-./_@:'][a-z0-9]+)*")
_JOINED_WORD = re.compile(rf"[^{_JOINER}{UNSEEN}\u200b][^{_JOINER}]*")
_CHARACTER = regex.compile(rf"\X{_MARK}*", regex.V1)  # with its vowel signs and accents
_AS_HYPHENS = str.maketrans(dict.fromkeys("ー\uff70", "-"))
_CODE_DIGITS = 5  # that make a number a code
_JOINT = re.compile("[-_]")
_RUN = re.compile(r"[^\W\d_]+|\d+")
_LETTERS_AND_DIGITS = re.compile(r"[\w-]+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s)")  # also a decade

Kind: TypeAlias = Literal["word", "code", "part", "unspaced"]


class Term(NamedTuple):
    """A term, and its span of code points in the text.

    A part of a code in a query finds the same word outside of codes only: E-4711 has nothing in common with E-4712.
    All other terms of a query also find parts of codes.

    Attributes:
        alternatives: phrases, each by its words, that are as good as the term of a query, by a glossary.
        stems: language of a query in which the word also finds others of its stem; empty for none.
    """

    text: str
    start: int
    end: int
    kind: Kind = "word"
    alternatives: tuple[tuple[str, ...], ...] = ()
    stems: str = ""

    def finds(self, other: Term) -> bool:
        """Whether a term of a query finds one of a document, alternatives left aside."""
        return self.text == other.text and (self.kind, other.kind) != ("part", "part")


def document_terms(text: str) -> Iterator[Term]:
    """All terms of a text.

    >>> [term.text for term in document_terms("Élan E-4711, 東京")]
    ['elan', 'e', '4711', 'e-4711', '東', '京', '東京']
    """
    return _terms_in(text, lambda characters: [*characters, *_pairs(characters)])


def query_terms(text: str) -> list[Term]:
    """The terms to search for, each once: pairs of characters where there are any.

    >>> [term.text for term in query_terms("the E-4711 and the 東京都")]
    ['the', 'e', '4711', 'e-4711', 'and', '東京', '京都']
    """
    terms: dict[str, Term] = {}
    for term in _terms_in(text, lambda characters: _pairs(characters) if len(characters) > 1 else characters):
        if term.text not in terms or terms[term.text].kind == "part":
            terms[term.text] = term
    return list(terms.values())


def atoms(text: str) -> list[Term]:
    """The terms of a text that contain no other: its words, or characters, in reading order.

    >>> [term.text for term in atoms("Élan E-4711, 東京")]
    ['elan', 'e', '4711', '東', '京']
    """
    terms = sorted(document_terms(text), key=lambda term: (term.start, -term.end))
    starts = [*(term.start for term in terms[1:]), len(text)]
    return [term for term, following in zip(terms, starts, strict=False) if following >= term.end]


def places(text: str, query: Sequence[Term]) -> dict[str, list[tuple[int, int]]]:
    """The spans of the terms of a document that each term of a query or its alternatives find.

    >>> places("E-4711 or e 12", query_terms("E-12"))
    {'e': [(10, 11)], '12': [(12, 14)], 'e-12': []}
    """
    found: defaultdict[str, list[Term]] = defaultdict(list)
    for term in document_terms(text):
        found[term.text].append(term)

    def spans(query: Term) -> list[tuple[int, int]]:
        others = {word for phrase in query.alternatives if found.keys() >= set(phrase) for word in phrase}
        others.update(words_of_stem(query.text, [*found], query.stems))
        own = [term for term in found.get(query.text, ()) if query.finds(term) or query.text in others]
        own += [term for word in others - {query.text} for term in found[word]]
        return sorted((term.start, term.end) for term in own)

    return {each.text: spans(each) for each in query}


def words_of_stem(word: str, words: Sequence[str], language: str) -> list[str]:
    """The words that have the stem of another; none without a language.

    >>> words_of_stem("parcels", ["parcel", "parceled", "part"], "en")
    ['parcel', 'parceled']
    """
    if not language:
        return []
    own, *stems = stems_of([word, *words], language)
    return [each for each, stem in zip(words, stems, strict=True) if stem == own]


class _Stemmers(threading.local):
    """Stemmers of a thread by language; each keeps the stems of ten thousand words."""

    def __init__(self) -> None:
        self.of = cache(Stemmer)


_STEMMERS = _Stemmers()


def stems_of(words: Sequence[str], language: str) -> list[str]:
    """The stems of words in the form of `fold`, by the Snowball algorithm of a language."""
    stems: list[str] = _STEMMERS.of(language).stemWords(words)
    return stems


@cache
def has_stems(language: str) -> bool:
    """Whether the Snowball algorithms have one of a language."""
    try:
        Stemmer(language)
    except KeyError:
        return False
    return True


def is_code(term: str) -> bool:
    """Whether a term has the shape of a code, such as a part number, an amount, a date or an id.

    >>> [term for term in ("e-117", "b2b", "76577", "3.5", "1998", "27th", "don't") if is_code(term)]
    ['e-117', 'b2b', '76577', '3.5']
    """
    digits = sum(map(str.isdigit, term))
    return digits >= _CODE_DIGITS or (0 < digits < len(term) and not _ORDINAL.fullmatch(term))


def joined_otherwise(code: str) -> list[str]:
    """Other forms of a code of letters and digits, joined by a hyphen, an underscore or nothing.

    >>> joined_otherwise("err4012"), joined_otherwise("4711-12")
    (['err-4012', 'err_4012'], [])
    """
    runs = _RUN.findall(code)
    if not _LETTERS_AND_DIGITS.fullmatch(code) or all(map(str.isdigit, runs)) or not any(map(str.isdigit, runs)):
        return []
    forms = (joint.join(parts) for parts in (_JOINT.split(code), runs) for joint in ("-", "_", ""))
    return [form for form in dict.fromkeys(forms) if form != code]


def _terms_in(text: str, of_unspaced: Callable[[Sequence[Term]], Iterable[Term]]) -> Iterator[Term]:
    """The terms of a text; `of_unspaced` makes those of characters without spaces between words."""
    if text.isascii():
        for match in _ASCII_CHUNK.finditer(text.lower()):
            if match[0].isalpha():  # as most are
                yield Term(match[0], *match.span())
            else:
                yield from _joined(match[0], match.start())
        return
    for match in _CHUNK.finditer(text):
        yield from of_unspaced(_characters(match)) if match.lastgroup == "unspaced" else _spaced(match)


def _spaced(match: regex.Match[str]) -> Iterator[Term]:
    if match.lastgroup == "joined":
        return _joined(match[0], match.start())
    return iter([Term(match["pictograph"], match.start(), match.end())])


def _joined(chunk: str, start: int) -> Iterator[Term]:
    """The words of a chunk and, if it has a digit, the chunk."""
    if chunk.isascii() and chunk.isalnum():
        yield _word(fold(chunk), start, start + len(chunk))
        return
    words = list(_terms(_JOINED_WORD.finditer(chunk), start))
    if len(words) > 1 and any(map(str.isdigit, chunk)):
        yield from (Term(*word[:3], "part") for word in words)
        yield Term(fold(chunk.translate(_AS_HYPHENS)), start, start + len(chunk), "code")
    else:
        yield from (_word(*word[:3]) for word in words)


def _word(text: str, start: int, end: int) -> Term:
    return Term(text, start, end, "code" if is_code(text) else "word")


def _characters(match: regex.Match[str]) -> list[Term]:
    return [term._replace(kind="unspaced") for term in _terms(_CHARACTER.finditer(match[0]), match.start())]


def _terms(matches: Iterable[re.Match[str] | regex.Match[str]], start: int) -> Iterator[Term]:
    """The terms of parts of a chunk; of some characters, nothing remains."""
    terms = (Term(fold(match[0]), start + match.start(), start + match.end()) for match in matches)
    return (term for term in terms if term.text)


def _pairs(characters: Sequence[Term]) -> Iterator[Term]:
    for first, second in pairwise(characters):
        yield Term(first.text + second.text, first.start, second.end, "unspaced")
