"""A small encoder whose vectors are drawn from the words and its space: fast, and told apart from any other."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from semblance.models.embeddings import Floats, TokenEmbeddings, Want, unit_rows
from semblance.models.errors import BadTexts, TextProblem
from semblance.models.text import Role, TokenizedText, Truncate


class DrawnEncoder:
    """A token a word.

    Args:
        name: what it is served as.
        space: what its vectors are drawn from, beside the words.
        dim: d.
        unread: a word that is no token to it.
    """

    max_tokens = 64

    def __init__(self, name: str, space: str, dim: int, unread: str = "") -> None:
        self.name, self.space, self.build, self.dim = name, space, f"{space}-build", dim
        self._unread = unread

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """Tokens of each text. Raises BadTexts."""
        del role, truncate
        faults = [
            TextProblem(i, "empty_text", "no token is left")
            for i, text in enumerate(texts)
            if set(text.split()) <= {self._unread}
        ]
        if faults:
            raise BadTexts(faults)
        return [self._tokenized(text) for text in texts]

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """The vectors that the words stand for."""
        return [self._embedded(each).finished(want, normalize=False) for each in tokenized]

    def vector(self, text: str) -> Floats:
        """The (d,) vector of a text at unit length, whatever else is done with it."""
        return unit_rows(self._embedded(self._tokenized(text)).pooled()).astype(np.float32)

    def _tokenized(self, text: str) -> TokenizedText:
        words = [word for word in text.split() if word != self._unread]
        ids = np.array([zlib.crc32(word.encode()) & 0x7FFFFFFF for word in words], np.int32)
        return TokenizedText(text, ids, np.zeros((len(ids), 2), np.int32), np.arange(len(ids), dtype=np.int32))

    def _embedded(self, text: TokenizedText) -> TokenEmbeddings:
        rows = [self._word(int(word)) for word in text.ids]
        return TokenEmbeddings(np.stack(rows), np.ones(len(rows), np.float32), text)

    def _word(self, word: int) -> Floats:
        seed = [zlib.crc32(self.space.encode()), word]
        return np.random.default_rng(seed).normal(size=self.dim).astype(np.float32)
