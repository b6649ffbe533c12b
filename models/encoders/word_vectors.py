"""Static vectors of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from semblance.models.embeddings import Floats, TokenEmbeddings, Want
from semblance.models.files.digests import digest
from semblance.models.model_files.source import ModelFiles
from semblance.models.runtime import Compute
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.models.tokenization.refusals import require_tokens, require_visible
from semblance.models.tokenization.words import Token, WordTokenizer

UNKNOWN = -1  # the row of a text of which nothing is known: zeros


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The vectors of v words.

    Attributes:
        vectors: (r, d) of any type of number; r is v, or less where words share rows.
        rows: (v,) the row of each word; None where word i has row i.
        scales: (v,) what the vector of each word is multiplied by; None for 1.
    """

    vectors: NDArray[np.number]
    rows: NDArray[np.integer] | None = None
    scales: NDArray[np.floating] | None = None

    def of(self, words: NDArray[np.int32]) -> Floats:
        """(n,) words -> (n, d) float32; zeros for `UNKNOWN`."""
        rows = words if self.rows is None else self.rows[words]
        found = self.vectors[rows].astype(np.float32)
        if self.scales is not None:
            found *= self.scales[words].astype(np.float32)[:, None]
        found[words == UNKNOWN] = 0.0
        return found


class WordVectors:
    """One fixed vector a word, whatever stands around it, and their mean as the text's vector.

    With x_1 ... x_n (d,) the vectors of a text's known words, repetitions included, the pooled vector is::

        mean: (1/n) sum_i x_i

    brought to unit length where the model says so. Words without a vector are left out. A text of which no word is
    known is a single zero vector that spans it, so that its scores are 0 and never undefined; distances tell how far
    the other text is from zero. There are no special tokens and no prompts, and it does not matter which device and
    precision the service runs networks with.

    Args:
        name: the name it is served under.
        table: the vectors.
        tokenizer: finds the rows of a text.
        space: digest of the files and of the settings below.
        max_tokens: most known words of a text that are taken.
        normalize: whether the pooled vector is brought to unit length.

    Prefer it where there is no time for a network: a text costs microseconds. Meaning that depends on context, and the
    order of words, are lost. `weighting=sif` and `projection=...` improve it much.

    Departs from model2vec in that text is cut after `max_tokens` known words, not after a number of characters or of
    tokens of which some are unknown.

    Source: mikolov-etal-2013-word2vec; pennington-etal-2014-glove; bojanowski-etal-2017-fasttext, without the vectors
    of character n-grams; tulkens-vandongen-2024-model2vec.
    """

    def __init__(
        self, name: str, table: Table, tokenizer: WordTokenizer, *, space: str, max_tokens: int, normalize: bool
    ) -> None:
        self.name = name
        self.dim = int(table.vectors.shape[1])
        self.max_tokens = max_tokens
        self.space = space
        self.build = digest(space=space, numpy=np.__version__, tokenizers=tokenizers.__version__)
        self._table = table
        self._tokenizer = tokenizer
        self._normalize = normalize

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """The known words of each text; both roles are the same.

        Raises:
            BadTexts: naming every text that is `empty_text`, `ill_formed_text` or `text_too_long`.
        """
        del role
        require_visible(texts)
        found = self._tokenizer(texts)
        tokenized = [self._cut(text, tokens, truncate) for text, tokens in zip(texts, found, strict=True)]
        require_tokens(tokenized, truncate)
        return tokenized

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Vectors of each text, looked up."""
        return [self._looked_up(text, want) for text in tokenized]

    def _looked_up(self, text: TokenizedText, want: Want) -> TokenEmbeddings:
        found = TokenEmbeddings(self._table.of(text.ids), np.ones(len(text), np.float32), text)
        return found.finished(want, self._normalize)

    def _cut(self, text: str, tokens: list[Token], truncate: Truncate) -> TokenizedText:
        """The tokens that fit; a single unknown one where there are none."""
        excess = max(len(tokens) - self.max_tokens, 0)
        kept = tokens[excess:] if truncate == "START" else tokens[: self.max_tokens]
        kept = kept or [Token(UNKNOWN, len(text) - len(text.lstrip()), len(text.rstrip()), 0)]
        columns = np.array(kept, np.int32)
        return TokenizedText(
            text=text, ids=columns[:, 0], spans=columns[:, 1:3], words=columns[:, 3], truncated=excess > 0
        )


def table_files(
    location: Path, space: str, read: Callable[[], tuple[Table, WordTokenizer]], *, max_tokens: int, normalize: bool
) -> ModelFiles:
    """What files of vectors say, which `read` reads into memory when the model is loaded."""

    def load(name: str, compute: Compute) -> WordVectors:
        del compute  # a matter of networks
        table, tokenizer = read()
        return WordVectors(name, table, tokenizer, space=space, max_tokens=max_tokens, normalize=normalize)

    return ModelFiles(location, "mean", normalize, max_tokens, space, needs_device=False, load=load)
