"""Tokens of a query and a text that a network reads together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tokenizers import Encoding, Tokenizer

from semblance.models.errors import BadTexts, TextProblem
from semblance.models.text import Ints, TokenizedText, Truncate, require_visible


class PairTokenizer:
    """A tokenizer of the tokenizers library for pairs of texts; all threads share it.

    A pair that is too long loses tokens at the end of the longer text, until both are equally long or it fits:
    `longest_first` of the library.

    Args:
        serialized: the tokenizer as JSON.
        max_tokens: maximum number of tokens of a pair, special ones included.
    """

    def __init__(self, serialized: str, max_tokens: int) -> None:
        self._tokenizer = Tokenizer.from_str(serialized)
        self._tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        self._max_tokens = max_tokens

    def tokenize(self, query: str, texts: Sequence[str], truncate: Truncate) -> list[TokenizedText]:
        """Tokenize each text behind the query.

        The query counts as a prompt, and all words of a text have the number 0.

        Args:
            query: the first text of each pair.
            texts: the second texts.
            truncate: NONE rejects pairs that are too long, any other value truncates them.

        Raises:
            BadTexts: lists every text that is `empty_text`, `ill_formed_text` or `text_too_long`.
        """
        require_visible(texts)
        encodings = self._tokenizer.encode_batch([(query, text) for text in texts])
        pairs = [_pair(text, encoding) for text, encoding in zip(texts, encodings, strict=True)]
        if truncate == "NONE" and (long := [at for at, pair in enumerate(pairs) if pair.truncated]):
            detail = f"with the query, it has more than the {self._max_tokens:,} tokens that are read: shorten it"
            raise BadTexts([TextProblem(at, "text_too_long", detail) for at in long])
        return pairs

    @property
    def has_types(self) -> bool:
        """Whether the types of the tokenizer are those of `types_of`."""
        encoding = self._tokenizer.encode("a", "b")
        return bool((types_of(_pair("b", encoding)) == encoding.type_ids).all())


def types_of(pair: TokenizedText) -> Ints:
    """(n,) 0 up to the special tokens behind the query, 1 from the first token of the text on."""
    own = np.flatnonzero(~pair.special)
    first = own[0] if len(own) else len(pair) - 1  # of a blank text, the special token behind it
    return (np.arange(len(pair)) >= first).astype(np.int32)


def _pair(text: str, encoding: Encoding) -> TokenizedText:
    own = np.array([sequence == 1 for sequence in encoding.sequence_ids], np.bool_)
    return TokenizedText(
        text=text,
        ids=np.asarray(encoding.ids, np.int32),
        spans=np.where(own[:, None], np.asarray(encoding.offsets, np.int32), 0).astype(np.int32),
        words=np.where(own, 0, -1).astype(np.int32),
        truncated=bool(encoding.overflowing),
        prompted=True,
    )
