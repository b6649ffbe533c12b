"""Cut a text into passages at the ends of sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import sentencex

from semblance.models.errors import BadTexts
from semblance.models.protocols import Encoder
from semblance.models.text import TokenizedText, text_problem

Span: TypeAlias = tuple[int, int]  # first and one-past-last code point
Tokenize: TypeAlias = Callable[[Sequence[str]], Sequence[TokenizedText]]

PASSAGE_TOKENS = 200  # of a passage by default, unless the model reads few more
PASSAGE_SHARE = 0.8  # of what the model reads, at most: parts of a text may have more tokens alone than in it
PASSAGE_OVERLAP = 1  # sentences by default
MIN_ROOM = 8  # tokens of the text itself in a passage
BLOCK_CHARS = 5000  # of a text that are split into sentences at a time


class Cut(NamedTuple):
    """The way in which texts are cut.

    Attributes:
        tokens: maximum number of tokens of a passage, special and prompt tokens included.
        overlap: number of sentences at the end of a passage with which the next one begins, if they fit.
    """

    tokens: int
    overlap: int


class _Piece(NamedTuple):
    """A sentence or a part of one, with its number of tokens, special ones not included."""

    start: int
    end: int
    tokens: int


def auto_cut(encoder: Encoder) -> Cut | None:
    """The default cut for an encoder; None if that leaves no room."""
    tokens = max(least_tokens(encoder), min(PASSAGE_TOKENS, int(PASSAGE_SHARE * encoder.max_tokens)))
    return Cut(tokens, PASSAGE_OVERLAP) if tokens <= encoder.max_tokens else None


def least_tokens(encoder: Encoder) -> int:
    """Least number of tokens of a passage, special and prompt tokens included."""
    return MIN_ROOM + overhead(partial(encoder.tokenize, role="document", truncate="END"))


def fits(text: TokenizedText, cut: Cut) -> bool:
    """Whether a text is one passage."""
    return not text.truncated and len(text) <= cut.tokens


def cut_passages(text: str, cut: Cut, tokenize: Tokenize) -> list[Span]:
    """Spans of the passages of a text, in order; between them are only spaces, or an overlap.

    Each has as many sentences as fit. A sentence that is too long is halved at a space, or in the middle.

    Args:
        text: with a token at least; what has none belongs to the passage before it.
        cut: how to cut.
        tokenize: tokens of each text, truncated at its end. Raises BadTexts.
    """
    room = cut.tokens - overhead(tokenize)
    spans = _packed(_pieces(text, sentences(text), room, tokenize), room, cut.overlap)
    # Together, pieces may have more tokens than alone: what then does not fit is cut once more.
    return [(piece.start, piece.end) for piece in _pieces(text, spans, room, tokenize)]


def cut_parts(text: str, parts: Sequence[Span], cut: Cut, tokenize: Tokenize) -> list[Span]:
    """Spans of the passages of a text whose parts are cut apart.

    Parts without a token have none.

    Args:
        text: with a token at least.
        parts: their spans, in order; without any, the text is one.
        cut: how to cut.
        tokenize: as for `cut_passages`.
    """
    if len(parts) < 2:
        return cut_passages(text, cut, tokenize)
    counts = _count(tokenize, [text[start:end] for start, end in parts])
    return [
        (start + first, start + last)
        for (start, end), tokens in zip(parts, counts, strict=True)
        if tokens
        for first, last in cut_passages(text[start:end], cut, tokenize)
    ]


def sentences(text: str) -> list[Span]:
    """Spans of the sentences, without the spaces around them."""
    spans = (
        _stripped(text, start + boundary["start_index"], start + boundary["end_index"])
        for start, end in _blocks(text)
        for boundary in sentencex.get_sentence_boundaries(
            "en", text[start:end]
        )  # "en" knows the full stops of all scripts
    )
    return [(start, end) for start, end in spans if text_problem(text[start:end]) is None]


def _blocks(text: str) -> Iterator[Span]:
    """Parts of a text that end where a sentence may.

    sentencex takes quadratic time over quotes that nothing closes, and other threads wait for it.
    """
    start = 0
    while len(text) - start > BLOCK_CHARS:
        most, least = start + BLOCK_CHARS, start + BLOCK_CHARS // 2
        ends = (text.rfind(mark, least, most) for mark in ("\n", ". ", " "))
        end = next((at + 1 for at in ends if at >= 0), most)
        yield start, end
        start = end
    yield start, len(text)


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _pieces(text: str, spans: Sequence[Span], room: int, tokenize: Tokenize) -> list[_Piece]:
    """The spans with their tokens; those that have no room are halved until they have."""
    counts = _count(tokenize, [text[start:end] for start, end in spans])
    pieces: list[_Piece] = []
    for (start, end), tokens in zip(spans, counts, strict=True):
        halves = _halves(text, start, end) if tokens > room else []
        if halves:
            pieces += _pieces(text, halves, room, tokenize)
        else:
            pieces.append(_Piece(start, end, tokens))
    return pieces


def _halves(text: str, start: int, end: int) -> list[Span]:
    """Both halves of a span, cut at the space nearest to its middle; none of a single character."""
    middle = (start + end) // 2
    spaces = (at for step in range(middle - start) for at in (middle - step, middle + step) if text[at].isspace())
    at = next(spaces, middle)
    return [_stripped(text, start, at), _stripped(text, at, end)] if start < at else []


def _packed(pieces: Iterable[_Piece], room: int, overlap: int) -> list[Span]:
    """Spans of as many pieces each as have room together."""
    return [(pack[0].start, pack[-1].end) for pack in _packs(pieces, room, overlap)]


def _packs(pieces: Iterable[_Piece], room: int, overlap: int) -> Iterator[list[_Piece]]:
    pack: list[_Piece] = []
    total = 0
    for piece in pieces:
        if pack and total + piece.tokens > room:
            yield pack
            pack = _tail(pack, room - piece.tokens, overlap)
            total = sum(each.tokens for each in pack)
        pack.append(piece)
        total += piece.tokens
    if pack:
        yield pack


def _tail(pack: Sequence[_Piece], room: int, overlap: int) -> list[_Piece]:
    """The last pieces, at most `overlap`, that have room."""
    for count in range(min(overlap, len(pack) - 1), 0, -1):
        if sum(each.tokens for each in pack[-count:]) <= room:
            return list(pack[-count:])
    return []


def overhead(tokenize: Tokenize) -> int:
    """Number of special and prompt tokens of every text."""
    try:
        [text] = tokenize(["a"])
    except BadTexts:  # of a table of words, which has no special tokens
        return 0
    return int(text.special.sum())


def _count(tokenize: Tokenize, texts: Sequence[str]) -> list[int]:
    """Number of tokens of each text; of a truncated one, more than it may have."""
    if not texts:
        return []
    try:
        tokenized = tokenize(texts)
    except BadTexts as error:  # an encoder need not know a sign that a text has besides its words
        unread = {problem.index for problem in error.problems}
        counts = iter(_count(tokenize, [text for i, text in enumerate(texts) if i not in unread]))
        return [0 if i in unread else next(counts) for i in range(len(texts))]
    return [len(each) + 1 if each.truncated else int((~each.special).sum()) for each in tokenized]
