"""Subword tokenization with character offsets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from tokenizers import Encoding, Tokenizer

from semblance.models.text import TokenizedText, Truncate, require_tokens, require_visible
from semblance.models.tokenization.readability import SAMPLED, Readability
from semblance.models.tokenization.word_boundaries import number_words
from semblance.models.tokenization.words import unknown_id


class FastTokenizer:
    """A tokenizer of the tokenizers library, which is never changed: all threads share it.

    Args:
        serialized: the tokenizer as JSON, without padding and truncation: this class truncates, and reports it.
        max_tokens: maximum number of tokens of a text, special and prompt tokens included.
    """

    def __init__(self, serialized: str, max_tokens: int) -> None:
        self._tokenizer = Tokenizer.from_str(serialized)
        self._max_tokens = max_tokens
        entries = self._tokenizer.decode_batch([[row] for row in range(min(self._tokenizer.get_vocab_size(), SAMPLED))])
        self._readability = Readability(entries, unknown_id(self._tokenizer))

    def tokenize(self, texts: Sequence[str], prompt: str, truncate: Truncate) -> list[TokenizedText]:
        """Tokenize the prompt followed by each text, with special tokens.

        Raises:
            BadTexts: lists every text that is `empty_text`, `ill_formed_text` or `text_too_long`.
        """
        require_visible(texts)
        encodings = self._tokenizer.encode_batch([prompt + text for text in texts])
        tokenized = [
            self._truncated(text, encoding, len(prompt), truncate)
            for text, encoding in zip(texts, encodings, strict=True)
        ]
        require_tokens(tokenized, self._max_tokens if truncate == "NONE" else None)
        return self._readability.assess(tokenized)

    def decode(self, ids: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """The text of each list of token ids.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        size = self._tokenizer.get_vocab_size()
        if unknown := [each for row in ids for each in row if not 0 <= each < size]:
            raise ValueError(f"token {unknown[0]} is not in the vocabulary of {size:,}")
        return self._tokenizer.decode_batch([list(row) for row in ids], skip_special_tokens=skip_special_tokens)

    def _truncated(self, text: str, encoding: Encoding, prompt_length: int, truncate: Truncate) -> TokenizedText:
        """Tokens of an encoding; with END or START, those within the limit."""
        pieces = zip(encoding.offsets, encoding.word_ids, encoding.special_tokens_mask, strict=True)
        own = {
            place: (max(start - prompt_length, 0), end - prompt_length)
            for place, ((start, end), word, special) in enumerate(pieces)
            if not (special or word is None or end <= prompt_length)
        }
        spans, words = np.zeros((len(encoding), 2), np.int32), np.full(len(encoding), -1, np.int32)
        if own:
            columns, places = np.array(number_words(text, own.values()), np.int32), list(own)
            spans[places], words[places] = columns[:, :2], columns[:, 2]
        tokens = TokenizedText(
            text=text,
            ids=np.asarray(encoding.ids, np.int32),
            spans=spans,
            words=words,
            prompted=prompt_length > 0,
        )
        return tokens.cut_to(self._max_tokens, truncate) if truncate in ("END", "START") else tokens


@lru_cache(maxsize=8)  # models that share a vocabulary share it, too; it takes a tenth of a second to make
def fast_tokenizer(serialized: str, max_tokens: int) -> FastTokenizer:
    """The tokenizer for these arguments of `FastTokenizer`; the same one each time."""
    return FastTokenizer(serialized, max_tokens)


def serialize_tokenizer(tokenizer: Tokenizer, lower_case: bool) -> str:
    """Serialize a tokenizer as JSON, without padding and truncation, with optional lower-casing."""
    serialized = tokenizer.to_str()
    if not (lower_case or tokenizer.padding or tokenizer.truncation):
        return serialized
    parts = json.loads(serialized)
    parts |= {"padding": None, "truncation": None}
    if lower_case:
        steps = [{"type": "Lowercase"}, *filter(None, [parts["normalizer"]])]
        parts["normalizer"] = {"type": "Sequence", "normalizers": steps}
    return json.dumps(parts, ensure_ascii=False)
