"""A text and its tokens, from the string on its way to a score; rejected texts."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from semblance.models.errors import BadTexts, TextProblem

Role: TypeAlias = Literal["query", "document"]
# The end at which a text that is too long is truncated; NONE rejects it, PASSAGES keeps all of it for a cut.
Truncate: TypeAlias = Literal["PASSAGES", "START", "END", "NONE"]
Granularity: TypeAlias = Literal["token", "word"]

Ints: TypeAlias = NDArray[np.int32]
Booleans: TypeAlias = NDArray[np.bool_]

_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp")  # Unicode categories: controls, format characters, separators


class Unit(NamedTuple):
    """A span of text that a link connects: a token that is not special, or a whole word.

    `start` and `end` count characters (Unicode code points) of the original text; `word` is the number of the word that
    contains the span.
    """

    text: str
    start: int
    end: int
    word: int


@dataclass(frozen=True, slots=True, eq=False)
class Units(Sequence[Unit]):
    """The n units of a text as arrays; each becomes a `Unit` when it is asked for.

    Attributes:
        text: the text.
        spans: (n, 2) int32, first and one-past-last character of each unit.
        words: (n,) int32, number of the word of each unit, ascending.
    """

    text: str
    spans: Ints
    words: Ints

    @overload
    def __getitem__(self, index: int) -> Unit: ...
    @overload
    def __getitem__(self, index: slice) -> Units: ...
    def __getitem__(self, index: int | slice) -> Unit | Units:
        """One unit, or a slice of them."""
        if isinstance(index, slice):
            return self.at(index)
        start, end = self.spans[index].tolist()
        return Unit(self.text[start:end], start, end, int(self.words[index]))

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[Unit]:
        for (start, end), word in zip(self.spans.tolist(), self.words.tolist(), strict=True):
            yield Unit(self.text[start:end], start, end, word)

    @property
    def texts(self) -> list[str]:
        """The text of each unit."""
        return [self.text[start:end] for start, end in self.spans.tolist()]

    def at(self, places: NDArray[np.int64] | slice) -> Units:
        """The units at some places."""
        return Units(self.text, self.spans[places], self.words[places])

    def by_word(self) -> tuple[Units, NDArray[np.int64]]:
        """Words of the units, and the position of each word's first unit."""
        begins = np.ones(len(self), np.bool_)
        begins[1:] = self.words[1:] != self.words[:-1]
        starts = np.flatnonzero(begins)
        spans = self.spans[starts]
        spans[:, 1] = np.maximum.reduceat(self.spans[:, 1], starts)
        return Units(self.text, spans, self.words[starts]), starts


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedText:
    """A text with its n tokens, the input of an encoder.

    Attributes:
        text: the original text, without any prompt.
        ids: (n,) int32, the vocabulary entry of each token.
        spans: (n, 2) int32, first and one-past-last character of each token in `text`; (0, 0) for special tokens.
        words: (n,) int32, number of the word of each token; -1 for special and prompt tokens.
        truncated: whether tokens were removed to fit the encoder.
        is_passage: whether the tokens are those of a passage of `text`.
        prompted: whether the tokens of a prompt precede those of the text.
        unread: share of the letters from the first to the last token that the model cannot read, from 0 to 1.
    """

    text: str
    ids: Ints
    spans: Ints
    words: Ints
    truncated: bool = False
    is_passage: bool = False
    prompted: bool = False
    unread: float = 0.0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the text and the arrays."""
        return sys.getsizeof(self.text) + self.ids.nbytes + self.spans.nbytes + self.words.nbytes

    @property
    def special(self) -> Booleans:
        """(n,) True for tokens that are not from the text: [CLS], [SEP], prompt tokens and so on."""
        special: Booleans = self.words < 0
        return special

    @property
    def is_blank(self) -> bool:
        """Whether no token is from the text."""
        return bool(self.special.all())

    def as_blank(self, text: str) -> TokenizedText:
        """The tokens of a blank text, which are the special ones of this text."""
        keep = self.special
        return TokenizedText(text, self.ids[keep], self.spans[keep], self.words[keep], prompted=self.prompted)

    def within(self, text: str, start: int) -> TokenizedText:
        """The tokens as those of a longer text, whose characters from `start` on are this one."""
        spans = np.where(self.special[:, None], 0, self.spans + start).astype(np.int32)
        return replace(self, text=text, spans=spans, is_passage=True)

    def at(self, places: Booleans) -> TokenizedText:
        """The tokens at some places only."""
        return replace(self, ids=self.ids[places], spans=self.spans[places], words=self.words[places])

    def cut_to(self, limit: int, truncate: Truncate) -> TokenizedText:
        """Remove tokens beyond `limit` at the end, or with START there; a token of the text is kept.

        None of them is special.
        """
        own = np.flatnonzero(~self.special)
        excess = min(len(self) - limit, len(own) - 1)
        if excess <= 0:
            return self
        keep = np.ones(len(self), np.bool_)
        keep[own[:excess] if truncate == "START" else own[-excess:]] = False
        return replace(self.at(keep), truncated=True)

    def units(self) -> Units:
        """The tokens that are not special, in reading order."""
        real = ~self.special
        return Units(self.text, self.spans[real], self.words[real])


def join_tokens(passages: Sequence[TokenizedText]) -> TokenizedText:
    """Join the tokens of all passages of a text; words are numbered on."""
    words, known = [], 0
    for passage in passages:
        words.append(np.where(passage.special, -1, passage.words + known).astype(np.int32))
        known = max(known, int(words[-1].max(initial=-1)) + 1)
    letters = np.array([len(passage) for passage in passages], np.float64)
    return replace(
        passages[0],
        ids=np.concatenate([passage.ids for passage in passages]),
        spans=np.concatenate([passage.spans for passage in passages]),
        words=np.concatenate(words),
        truncated=any(passage.truncated for passage in passages),
        is_passage=False,
        unread=float(letters @ [passage.unread for passage in passages] / letters.sum()),
    )


def require_visible(texts: Sequence[str]) -> None:
    """Reject texts before tokenization.

    Raises:
        BadTexts: lists every text that is `empty_text` or `ill_formed_text`.
    """
    _reject([TextProblem(i, *problem) for i, text in enumerate(texts) if (problem := text_problem(text))])


def require_tokens(tokenized: Sequence[TokenizedText], max_tokens: int | None = None) -> None:
    """Reject texts after tokenization.

    Raises:
        BadTexts: lists every text that is `empty_text` (it has no tokens) or `text_too_long` (it has more than
            `max_tokens`, if given).
    """
    problems = (_token_problem(text, max_tokens) for text in tokenized)
    _reject([TextProblem(i, *problem) for i, problem in enumerate(problems) if problem])


def _reject(problems: list[TextProblem]) -> None:
    if problems:
        raise BadTexts(problems)


def is_visible(text: str) -> bool:
    """Whether a text has a character that is not a control, a format character or a space."""
    # most texts begin with a letter
    return text[:1].isalnum() or any(unicodedata.category(character) not in _INVISIBLE for character in text)


def text_problem(text: str) -> tuple[str, str] | None:
    r"""Error code and message, if no encoder can encode this text.

    >>> text_problem("a"), text_problem("\u200b")
    (None, ('empty_text', 'it has no visible character'))
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return "ill_formed_text", "it holds a lone surrogate, which is no character"
    if not is_visible(text):
        return "empty_text", "it has no visible character"
    return None


def _token_problem(text: TokenizedText, max_tokens: int | None) -> tuple[str, str] | None:
    if text.is_blank:
        return "empty_text", "it has no tokens"
    if max_tokens is not None and len(text) > max_tokens:
        return "text_too_long", (
            f"its {len(text):,} tokens exceed the {max_tokens:,} that are read: shorten it, or allow this by "
            "the field for truncation (`truncate` in this API and OpenAI's: PASSAGES, END or START)"
        )
    return None
