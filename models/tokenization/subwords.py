"""From texts to tokens that know their place in the text."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import cast

import numpy as np
from tokenizers import Encoding, Tokenizer, normalizers

from semblance.models.text import TokenizedText, Truncate
from semblance.models.tokenization.refusals import require_tokens, require_visible


class FastTokenizer:
    """A tokenizer of the tokenizers library, with one copy a thread.

    Args:
        serialized: the tokenizer as JSON, which neither pads nor truncates: both are done here and told.
        max_tokens: most tokens a text may have, special and prompt tokens included.
    """

    def __init__(self, serialized: str, max_tokens: int) -> None:
        self._serialized = serialized
        self._max_tokens = max_tokens
        self._own = threading.local()

    def tokenize(self, texts: Sequence[str], prompt: str, truncate: Truncate) -> list[TokenizedText]:
        """Tokens of each text behind the prompt, special tokens included.

        Raises:
            BadTexts: naming every text that is `empty_text`, `ill_formed_text` or `text_too_long`.
        """
        require_visible(texts)
        encodings = self._of_this_thread().encode_batch([prompt + text for text in texts])
        tokenized = [
            self._cut(text, encoding, len(prompt), truncate) for text, encoding in zip(texts, encodings, strict=True)
        ]
        require_tokens(tokenized, truncate)
        return tokenized

    def _cut(self, text: str, encoding: Encoding, prompt_length: int, truncate: Truncate) -> TokenizedText:
        """The tokens that fit: special and prompt tokens stay, the text's own give way at the chosen end."""
        spans = np.asarray(encoding.offsets, np.int32).reshape(-1, 2)
        words = np.array([-1 if word is None else word for word in encoding.word_ids], np.int32)
        special = np.asarray(encoding.special_tokens_mask, np.bool_) | (words < 0) | (spans[:, 1] <= prompt_length)
        spans = np.where(special[:, None], 0, np.maximum(spans - prompt_length, 0)).astype(np.int32)
        own = np.flatnonzero(~special)
        excess = len(special) - self._max_tokens
        keep = np.ones(len(special), np.bool_)
        if excess > 0:
            keep[own[:excess] if truncate == "START" else own[-excess:]] = False
        return TokenizedText(
            text=text,
            ids=np.asarray(encoding.ids, np.int32)[keep],
            spans=spans[keep],
            words=np.where(special, -1, words).astype(np.int32)[keep],
            truncated=excess > 0,
            prompted=prompt_length > 0,
        )

    def _of_this_thread(self) -> Tokenizer:
        """This thread's own copy: a fast tokenizer shared between threads fails with "Already borrowed"."""
        if not hasattr(self._own, "tokenizer"):
            self._own.tokenizer = Tokenizer.from_str(self._serialized)
        return cast("Tokenizer", self._own.tokenizer)


def bare(tokenizer: Tokenizer, lower_case: bool) -> str:
    """A tokenizer as JSON that neither pads nor truncates, and lower-cases texts first if asked."""
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_padding()
    copy.no_truncation()
    if lower_case:
        steps = [normalizers.Lowercase()] + ([copy.normalizer] if copy.normalizer else [])
        copy.normalizer = normalizers.Sequence(steps)
    return copy.to_str()
