"""A small, fast encoder with random word vectors, reproducible from the word and the space."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from semblance.models.embeddings import Floats, Precision, TokenEmbeddings, Want, unit_rows
from semblance.models.errors import BadTexts, TextProblem
from semblance.models.text import Role, TokenizedText, Truncate


class RandomEncoder:
    """Encoder with one token per word.

    Args:
        name: served name.
        space: seed of the word vectors, so that encoders of different spaces differ.
        dim: d.
        ignored_word: a word that yields no token.
    """

    max_tokens = 64

    def __init__(self, name: str, space: str, dim: int, ignored_word: str = "") -> None:
        self.name, self.space, self.build, self.dim = name, space, f"{space}-build", dim
        self.precision: Precision = "float32"
        self._ignored_word = ignored_word

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        del role, truncate
        faults = [
            TextProblem(i, "empty_text", "no token is left")
            for i, text in enumerate(texts)
            if set(text.split()) <= {self._ignored_word}
        ]
        if faults:
            raise BadTexts(faults)
        return [self._tokenized(text) for text in texts]

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        return [self._embedded(each).finalized(want, normalize=False) for each in tokenized]

    def vector(self, text: str) -> Floats:
        return unit_rows(self._embedded(self._tokenized(text)).pooled()).astype(np.float32)

    def _tokenized(self, text: str) -> TokenizedText:
        words = [word for word in text.split() if word != self._ignored_word]
        ids = np.array([zlib.crc32(word.encode()) & 0x7FFFFFFF for word in words], np.int32)
        return TokenizedText(text, ids, np.zeros((len(ids), 2), np.int32), np.arange(len(ids), dtype=np.int32))

    def _embedded(self, text: TokenizedText) -> TokenEmbeddings:
        rows = [self._word(int(word)) for word in text.ids]
        return TokenEmbeddings(np.stack(rows), np.ones(len(rows), np.float32), text)

    def _word(self, word: int) -> Floats:
        seed = [zlib.crc32(self.space.encode()), word]
        return np.random.default_rng(seed).normal(size=self.dim).astype(np.float32)
