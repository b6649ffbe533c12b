"""Static word vectors as an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from semblance.models.embeddings import Floats, Precision, TokenEmbeddings, Want
from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest
from semblance.models.model_files.source import ModelFiles
from semblance.models.runtime import Compute
from semblance.models.text import Role, TokenizedText, Truncate, require_tokens, require_visible
from semblance.models.tokenization.readability import Readability
from semblance.models.tokenization.words import TableToken, TableTokenizer

UNKNOWN = -1  # id of the zero vector that stands for a text without known words
_BLOCK_ROWS = 1 << 14  # checked at a time
_LEAST = 1e-15  # largest absolute value of a vector: its square is still far above the smallest float32


@dataclass(frozen=True, slots=True, eq=False)
class VectorTable:
    """The vectors of v words.

    Attributes:
        vectors: (r, d) of any number type; r is v, or less if words share rows.
        rows: (v,) row of each word; None if word i has row i.
        scales: (v,) factor of the vector of each word; None for 1.
    """

    vectors: NDArray[np.number]
    rows: NDArray[np.integer] | None = None
    scales: NDArray[np.floating] | None = None

    def look_up(self, words: NDArray[np.int32]) -> Floats:
        """(n,) word ids -> (n, d) float32; zeros for `UNKNOWN`."""
        rows = words if self.rows is None else self.rows[words]
        vectors = self.vectors[rows].astype(np.float32)
        if self.scales is not None:
            vectors *= self.scales[words].astype(np.float32)[:, None]
        vectors[words == UNKNOWN] = 0.0
        return vectors


class WordVectors:
    """One fixed vector per word, independent of context; their mean is the text's vector.

    With x_1 ... x_n (d,) the vectors of a text's known words, repetitions included, the pooled vector is::

        mean: (1/n) sum_i x_i

    normalized to unit length if the model says so. Words without a vector are skipped. A text without any known word is
    a single zero vector that spans it, so that its scores are 0 and never undefined; a distance is then that of the
    other text to zero. There are no special tokens and no prompts, and the device and precision of networks have no
    effect.

    Args:
        name: the name it is served under.
        table: the vectors.
        tokenizer: finds the rows of a text.
        space: digest of the files and of the settings below.
        max_tokens: known words after which a text is truncated.
        normalize: whether the pooled vector is normalized to unit length.

    Prefer it if a network is too slow: a text takes microseconds. Meaning that depends on context, and word order, are
    lost. `weighting=sif` and `projection=...` improve it considerably.

    Departs from model2vec: it truncates after `max_tokens` known words, not after a number of characters or of tokens,
    known and unknown.

    Source: mikolov-etal-2013-word2vec; pennington-etal-2014-glove; bojanowski-etal-2017-fasttext, without the vectors
    of character n-grams; tulkens-vandongen-2024-model2vec.
    """

    def __init__(
        self, name: str, table: VectorTable, tokenizer: TableTokenizer, *, space: str, max_tokens: int, normalize: bool
    ) -> None:
        self.name = name
        self.dim = int(table.vectors.shape[1])
        self.max_tokens = max_tokens
        self.space = space
        self.precision: Precision = "float32"
        self.build = digest(space=space, numpy=np.__version__, tokenizers=tokenizers.__version__)
        self._table = table
        self._tokenizer = tokenizer
        self._readability = Readability(tokenizer.vocabulary, UNKNOWN)
        self._normalize = normalize

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """The known words of each text, for either role.

        Raises:
            BadTexts: lists every text that is `empty_text`, `ill_formed_text` or `text_too_long`.
        """
        del role
        require_visible(texts)
        tokens = self._tokenizer(texts)
        tokenized = [self._truncate(text, token, truncate) for text, token in zip(texts, tokens, strict=True)]
        require_tokens(tokenized, self.max_tokens if truncate == "NONE" else None)
        return self._readability.assess(tokenized)

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Look up the vectors of each text."""
        return [
            TokenEmbeddings(self._table.look_up(text.ids), np.ones(len(text), np.float32), text).finalized(
                want, self._normalize
            )
            for text in tokenized
        ]

    def _truncate(self, text: str, tokens: list[TableToken], truncate: Truncate) -> TokenizedText:
        """Remove tokens at an end, if asked; a text without tokens has a single unknown one."""
        excess = max(len(tokens) - self.max_tokens, 0) if truncate in ("END", "START") else 0
        kept = tokens[excess:] if truncate == "START" else tokens[: len(tokens) - excess]
        kept = kept or [TableToken(UNKNOWN, len(text) - len(text.lstrip()), len(text.rstrip()), 0)]
        columns = np.array(kept, np.int32)
        return TokenizedText(
            text=text, ids=columns[:, 0], spans=columns[:, 1:3], words=columns[:, 3], truncated=excess > 0
        )


def table_model_files(
    location: Path,
    space: str,
    read: Callable[[], tuple[VectorTable, TableTokenizer]],
    *,
    max_tokens: int,
    normalize: bool,
) -> ModelFiles:
    """`ModelFiles` of a vector table, which `read` reads into memory when the model is loaded."""

    def load(name: str, compute: Compute) -> WordVectors:
        del compute  # concerns networks only
        table, tokenizer = read()
        _require_finite(table.vectors, location)
        return WordVectors(name, table, tokenizer, space=space, max_tokens=max_tokens, normalize=normalize)

    return ModelFiles(location, "mean", True, normalize, max_tokens, space, needs_device=False, load=load)


def _require_finite(vectors: NDArray[np.number], location: Path) -> None:
    """Reject NaN, infinity, and numbers whose squares float32 cannot hold: they give no score.

    Raises:
        BadCheckpoint: names the row.
    """
    for start in range(0, len(vectors), _BLOCK_ROWS):  # in blocks, because a mask of the whole would double the memory
        block = vectors[start : start + _BLOCK_ROWS]
        largest = np.maximum(block.max(axis=1).astype(np.float64), -block.min(axis=1).astype(np.float64))
        bad = ~((largest == 0) | ((largest > _LEAST) & (largest < 1 / _LEAST)))
        if bad.any():
            row = int(bad.argmax())
            which = f"outside {_LEAST:g} to {1 / _LEAST:g}" if np.isfinite(largest[row]) else "that is not finite"
            raise BadCheckpoint(f"{location} holds a number {which}, in vector {start + row + 1}")
