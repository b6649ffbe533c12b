"""Map a text to rows of a table of vectors, by whole words or by subwords."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from semblance.models.tokenization.word_boundaries import number_words

_CLITICS = ("n't", "'s", "'d", "'m", "'re", "'ve", "'ll")  # as the Penn Treebank splits them off


class TableToken(NamedTuple):
    """A row of the table, the span of characters `start` to `end`, and the number of their word."""

    row: int
    start: int
    end: int
    word: int


class TableTokenizer(Protocol):
    """Finds the tokens of texts that are in a table; thread-safe.

    Attributes:
        vocabulary: the words or subwords of the table.
    """

    vocabulary: Collection[str]

    def __call__(self, texts: Sequence[str]) -> list[list[TableToken]]:
        """Known tokens of each text, in reading order; unknown ones are skipped."""


class WholeWords:
    """Whole words: a piece between spaces, else without surrounding punctuation, else its parts.

    A vocabulary without upper case is looked up in lower case; any other first as written, then in lower case. English
    clitics such as "n't" and "'s" are separate parts if the vocabulary contains them.

    >>> words = WholeWords({"do": 0, "n't": 1, "u.s.": 2, "hat": 3, ",": 4})
    >>> [(token.row, token.start, token.end) for token in words(["Don't hat, (U.S.)!"])[0]]
    [(0, 0, 2), (1, 2, 5), (3, 6, 9), (4, 9, 10), (2, 12, 16)]
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        self.vocabulary: Collection[str] = rows.keys()
        self._rows = rows
        self._lower_only = not any(word != word.lower() for word in rows)
        self._clitics = tuple(clitic for clitic in _CLITICS if self._row(clitic) is not None)
        self._spaces = pre_tokenizers.WhitespaceSplit()
        patterns = [*(rf"(?i:{clitic})\b" for clitic in self._clitics), r"[\p{P}\p{S}]"]
        self._splitter = pre_tokenizers.Split(Regex("|".join(patterns)), "isolated")

    def __call__(self, texts: Sequence[str]) -> list[list[TableToken]]:
        """Known words of each text."""
        return [
            [TableToken(row, start, end, word) for word, (row, start, end) in enumerate(self._known(text))]
            for text in texts
        ]

    def _known(self, text: str) -> Iterator[tuple[int, int, int]]:
        for piece, (start, _) in self._spaces.pre_tokenize_str(text):
            for part, at in self._parts_of(piece):
                row = self._row(part)
                if row is not None:
                    yield row, start + at, start + at + len(part)

    def _parts_of(self, piece: str) -> Iterator[tuple[str, int]]:
        """Parts of a piece between two spaces, and the offset of each in it."""
        if self._row(piece) is not None:
            yield piece, 0
            return
        start, end = _core(piece)
        core = piece[start:end].lower()
        stops = [end + 1] if piece[end : end + 1] == "." else []  # an abbreviation includes its full stop
        stops += [end, *(end - len(clitic) for clitic in self._clitics if core.endswith(clitic))]
        whole = next((stop for stop in stops if self._row(piece[start:stop]) is not None), None)
        if whole is None:
            yield from self._split(piece, 0)
        else:
            yield from self._split(piece[:start], 0)
            yield piece[start:whole], start
            yield from self._split(piece[whole:], whole)

    def _split(self, piece: str, offset: int) -> Iterator[tuple[str, int]]:
        """Separate every mark and clitic, unless the whole piece is known, as "..." may be."""
        whole = not piece or self._row(piece) is not None
        parts = [(piece, (0, len(piece)))] if whole else self._splitter.pre_tokenize_str(piece)
        yield from ((part, offset + start) for part, (start, _) in parts if part)

    def _row(self, word: str) -> int | None:
        if self._lower_only:
            return self._rows.get(word.lower())
        exact = self._rows.get(word)
        return self._rows.get(word.lower()) if exact is None else exact


def _core(piece: str) -> tuple[int, int]:
    """Start and end of a piece without surrounding punctuation."""
    start, end = 0, len(piece)
    while start < end and _is_mark(piece[start]):
        start += 1
    if start == end:
        return 0, end
    while _is_mark(piece[end - 1]):
        end -= 1
    return start, end


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


class Subwords:
    """Subwords of a tokenizer, without special tokens and its unknown token.

    >>> subwords = Subwords(word_piece_tokenizer({"[UNK]": 0, "play": 1, "##ing": 2}))
    >>> [(token.row, token.start, token.end, token.word) for token in subwords(["Zz PLAYING"])[0]]
    [(1, 3, 7, 1), (2, 7, 10, 1)]
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._unknown = unknown_id(tokenizer)
        self.vocabulary: Collection[str] = tokenizer.get_vocab().keys()

    def __call__(self, texts: Sequence[str]) -> list[list[TableToken]]:
        """Known subwords of each text."""
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [
            [
                TableToken(row, *piece)
                for row, piece in zip(encoding.ids, number_words(text, encoding.offsets), strict=True)
                if row != self._unknown
            ]
            for text, encoding in zip(texts, encodings, strict=True)
        ]


def word_piece_tokenizer(rows: Mapping[str, int]) -> Tokenizer:
    """WordPiece tokenizer of a vocabulary; lower-cases if the vocabulary is in lower case."""
    lower = not any(word != word.lower() for word in rows if not (word.startswith("[") and word.endswith("]")))
    tokenizer = Tokenizer(models.WordPiece(dict(rows), unk_token="[UNK]"))  # noqa: S106 - not a password
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def tokenizer_for(rows: Mapping[str, int]) -> TableTokenizer:
    """WordPiece if the vocabulary contains "[UNK]" and pieces such as "##ing", else whole words."""
    if "[UNK]" in rows and any(word.startswith("##") and len(word) > 2 for word in rows):
        return Subwords(word_piece_tokenizer(rows))
    return WholeWords(rows)


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Id of the unknown token of a tokenizer, if it has one.

    >>> unknown_id(word_piece_tokenizer({"a": 0, "[UNK]": 1}))
    1
    """
    if isinstance(tokenizer.model, models.Unigram):  # it does not tell its own, but in JSON, which takes long to parse
        unknown = json.loads(tokenizer.to_str())["model"].get("unk_id")
        return None if unknown is None else int(unknown)
    token = tokenizer.model.unk_token
    return None if token is None else tokenizer.token_to_id(token)
