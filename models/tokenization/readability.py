"""The part of a text that a model can read, judged by the vocabulary of its tokenizer."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from semblance.models.text import Booleans, Ints, TokenizedText

SAMPLED = 100_000  # entries of a vocabulary that are looked at; tables begin with the most frequent words
MIN_ENTRIES = 100  # of several letters: a vocabulary with fewer in a script was not made from texts in it
MIN_WORDS = 5  # a shorter text may consist of names, which fall into small pieces in any language
WHOLE_PIECE = 3  # letters on average, from which pieces have a meaning of their own
LATIN = "LATIN"

_ASCII_LETTERS = np.array([chr(code).isalpha() for code in range(128)])


class Readability:
    """Finds the letters of texts that a model cannot read, and texts of unknown signs.

    A letter is unread if

    - its script is one of which the vocabulary has single letters at most;
    - or no known token contains it;
    - or it is in a Latin word that the tokenizer splits into pieces of less than three letters on average, in a text of
      at least five words. Other scripts are exempt: where words are not separated by spaces, small pieces are normal.

    A text without letters is unread if no token of it is known.

    A vocabulary without words in any script is one of characters or bytes. It says nothing, and nothing is unread.

    Args:
        vocabulary: its first entries as text, up to `SAMPLED`.
        unknown: id of the token of unknown words, if there is one.

    >>> readability = Readability([first + last for first in "abcdefghijk" for last in "lmnopqrstuv"], unknown=None)
    >>> numbers = np.array([[0, 2], [3, 5]], np.int32)
    >>> readability.assess([TokenizedText("al йо", numbers[0], numbers, np.array([0, 1], np.int32))])[0].unread
    0.5
    """

    def __init__(self, vocabulary: Iterable[str], unknown: int | None) -> None:
        entries = list(vocabulary)
        latin = (LATIN for entry in entries if entry.isascii() and _script_of_word(entry) is not None)
        counts = Counter(islice(latin, MIN_ENTRIES))  # most entries of most vocabularies are more of them
        counts.update(
            script for entry in entries if not entry.isascii() and (script := _script_of_word(entry)) is not None
        )
        self._scripts = frozenset(script for script, count in counts.items() if count >= MIN_ENTRIES)
        self._unknown = unknown

    def assess(self, texts: Sequence[TokenizedText]) -> list[TokenizedText]:
        """Set `unread` of texts, each with at least one token that is not special."""
        if not self._scripts or not texts:
            return list(texts)
        joined = _Joined.of(texts)
        letters = _letters(joined.text) & joined.inside(joined.extents)
        read = letters & joined.inside(joined.spans[self._known(joined.ids)])
        read &= ~joined.inside(joined.spans[_in_small_pieces(joined, letters)])
        if not (joined.text.isascii() and LATIN in self._scripts):
            read &= [script_of(character) in self._scripts for character in joined.text]
        total = np.add.reduceat(letters, joined.starts, dtype=np.int64)
        shares = 1 - np.add.reduceat(read, joined.starts, dtype=np.int64) / np.maximum(total, 1)
        shares[total == 0] = joined.count(self._known(joined.ids))[total == 0] == 0
        return [
            replace(text, unread=share) if share else text for text, share in zip(texts, shares.tolist(), strict=True)
        ]

    def _known(self, ids: Ints) -> Booleans:
        known: Booleans = ids != self._unknown if self._unknown is not None else np.ones(len(ids), np.bool_)
        return known


@dataclass(frozen=True, slots=True)
class _Joined:
    """Several texts as one, so that each step is one operation on arrays.

    Attributes:
        text: the texts, joined without separator.
        starts: (texts,) first character of each.
        ids: (tokens,) the vocabulary entries of their tokens, without special ones.
        spans: (tokens, 2) first and one-past-last character of each in `text`.
        words: (tokens,) number of the word of each, counted through all texts.
        text_of_word: (words,) number of the text that has the word.
    """

    text: str
    starts: NDArray[np.int64]
    ids: Ints
    spans: NDArray[np.int64]
    words: NDArray[np.int64]
    text_of_word: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[TokenizedText]) -> _Joined:
        own = np.concatenate([text.words for text in texts]) >= 0
        starts = np.cumsum([0, *(len(text.text) for text in texts[:-1])])
        text_of = np.repeat(np.arange(len(texts)), [len(text) for text in texts])[own]
        words = np.concatenate([text.words for text in texts])[own]
        begins = np.diff(words, prepend=-1).astype(np.bool_) | np.diff(text_of, prepend=-1).astype(np.bool_)
        return cls(
            text="".join(text.text for text in texts),
            starts=starts,
            ids=np.concatenate([text.ids for text in texts])[own],
            spans=np.concatenate([text.spans for text in texts])[own] + starts[text_of, None],
            words=np.cumsum(begins) - 1,
            text_of_word=text_of[begins],
        )

    @property
    def extents(self) -> NDArray[np.int64]:
        """(texts, 2) first character of each first token, one-past-last of each last one."""
        text_of = self.text_of_word[self.words]
        first = np.searchsorted(text_of, np.arange(len(self.starts)))
        return np.stack([self.spans[first, 0], np.maximum.reduceat(self.spans[:, 1], first)], axis=1)

    def count(self, tokens: Booleans) -> NDArray[np.int64]:
        """(texts,) How many of the tokens each has."""
        return np.bincount(self.text_of_word[self.words[tokens]], minlength=len(self.starts))

    def inside(self, spans: NDArray[np.int64]) -> Booleans:
        """(characters,) True for those in any of the spans."""
        size = len(self.text) + 1
        changes = np.bincount(spans[:, 0], minlength=size) - np.bincount(spans[:, 1], minlength=size)
        inside: Booleans = np.cumsum(changes[:-1]) > 0
        return inside


def _letters(text: str) -> Booleans:
    """(characters,) True for letters."""
    if text.isascii():
        return _ASCII_LETTERS[np.frombuffer(text.encode(), np.uint8)]
    return np.array([character.isalpha() for character in text])


def _in_small_pieces(joined: _Joined, letters: Booleans) -> Booleans:
    """(tokens,) True for those of Latin words in small pieces, in texts with enough words."""
    until = np.concatenate([[0], np.cumsum(letters)])
    in_piece = until[joined.spans[:, 1]] - until[joined.spans[:, 0]]
    in_word = np.bincount(joined.words, in_piece)
    pieces = np.bincount(joined.words, in_piece > 0)
    enough = np.bincount(joined.text_of_word, in_word > 0) >= MIN_WORDS
    small = (pieces > 1) & (in_word < WHOLE_PIECE * pieces) & enough[joined.text_of_word]
    tokens: Booleans = small[joined.words]
    if not joined.text.isascii():
        tokens &= [script_of(joined.text[start]) == LATIN for start in joined.spans[:, 0]]
    return tokens


def _script_of_word(entry: str) -> str | None:
    """Script of an entry with several letters."""
    if entry.isascii() and entry.isalpha():  # most of them: a vocabulary has tens of thousands
        return LATIN if len(entry) > 1 else None
    letters = [character for character in entry if character.isalpha()]
    return script_of(letters[0]) if len(letters) > 1 else None


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """Script of a letter, such as LATIN or CJK: the first word of its name in Unicode.

    >>> script_of("é"), script_of("й"), script_of("語")
    ('LATIN', 'CYRILLIC', 'CJK')
    """
    return unicodedata.name(character, "").partition(" ")[0]
