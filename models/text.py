"""A text and its tokens: the first step of the way from a string to a score."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Role: TypeAlias = Literal["query", "document"]
Truncate: TypeAlias = Literal["END", "START", "NONE"]
Granularity: TypeAlias = Literal["token", "word"]

Ints: TypeAlias = NDArray[np.int32]
Booleans: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of text that a link can end in: a real token, or a whole word.

    `start` and `end` count characters (Unicode code points) of the original text; `word` is the number of the
    pre-tokeniser's word that the stretch belongs to.
    """

    text: str
    start: int
    end: int
    word: int


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedText:
    """A text with its n tokens, as an encoder reads them.

    Attributes:
        text: the original text, without any prompt.
        ids: (n,) int32, the vocabulary entry of each token.
        spans: (n, 2) int32, first and one-past-last character of each token in `text`; (0, 0) for special tokens.
        words: (n,) int32, the pre-tokeniser's word of each token; -1 for special and prompt tokens.
        truncated: whether tokens were cut off to fit the encoder.
        prompted: whether tokens of a prompt stand before the text's own.
    """

    text: str
    ids: Ints
    spans: Ints
    words: Ints
    truncated: bool = False
    prompted: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the text and the arrays."""
        return sys.getsizeof(self.text) + self.ids.nbytes + self.spans.nbytes + self.words.nbytes

    @property
    def special(self) -> Booleans:
        """(n,) True where a token is not the text's own: [CLS], [SEP], prompt tokens and their like."""
        special: Booleans = self.words < 0
        return special

    def units(self) -> tuple[Unit, ...]:
        """The real tokens, in reading order."""
        real = ~self.special
        return tuple(
            Unit(self.text[start:end], int(start), int(end), int(word))
            for (start, end), word in zip(self.spans[real], self.words[real], strict=True)
        )
