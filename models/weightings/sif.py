"""Smooth inverse frequency."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.lines import numbered_lines
from semblance.models.text import TokenizedText

A = 1e-3  # as in the paper's experiments


class Sif:
    """Smooth inverse frequency: frequent words count less.

    With p(word) the relative frequency of the word in a large corpus, for each of n tokens::

        w_i = a / (a + p(word_i))                        in (0, 1], a = 0.001
        p(word) = count of the word / count of all words

    A word without a count has p = 0 and weight 1. All subwords of a word have the weight of the whole word, which is
    looked up in lower case. Special tokens have weight 0.

    Args:
        counts: word in lower case -> its count in a large corpus.
        digest: digest of a and of the file of counts.

    Prefer it to `uniform` for static vectors, whose mean is otherwise dominated by words such as "the". Usually
    combined with the projection `common_component_removal`, which is the second half of the paper's method.

    The mean of a text divides by the sum of its weights, where the paper divides by n: the direction is the same but
    not the length, so a projection that is fitted afterwards weighs texts slightly differently.

    >>> spans = np.array([[0, 2], [3, 6], [7, 10]], np.int32)
    >>> text = TokenizedText("of the owl", spans[0], spans, np.arange(3, dtype=np.int32))
    >>> Sif({"the": 50, "of": 1, "others": 949}, "").weights(text).round(6)
    array([0.5     , 0.019608, 1.      ], dtype=float32)

    Source: arora-etal-2017-sif, algorithm 1, the first half.
    """

    options: ClassVar[tuple[str, ...]] = ("frequencies",)

    def __init__(self, counts: Mapping[str, float], digest: str) -> None:
        total = sum(counts.values())
        self._weights = {word: A / (A + count / total) for word, count in counts.items()}
        self.digest = digest

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Self:
        """Read the counts from the file that the option `frequencies` names.

        Raises:
            BadCheckpoint: the option or file is missing, or a line is malformed.
        """
        if "frequencies" not in options:
            raise BadCheckpoint("weighting=sif needs frequencies=FILE, with one word and its count per line")
        file = Path(options["frequencies"]).expanduser()
        sha256 = file_sha256(file)
        return cls(read_counts(file), digest(kind="sif", a=A, frequencies=sha256, words="unicode"))

    def weights(self, text: TokenizedText) -> Floats:
        """(n,) float32."""
        words = _words(text)
        return np.array([self._weights.get(words[word], 1.0) if word >= 0 else 0.0 for word in text.words], np.float32)


def read_counts(file: Path) -> dict[str, float]:
    """Read lines of a word, a tab or space, and a count, as word in lower case -> count.

    The first line may be a header. Counts of words that differ only in case are summed.

    Raises:
        BadCheckpoint: a line is malformed; the message names it.
    """
    counts: dict[str, float] = {}
    for number, line in numbered_lines(file, error_type=BadCheckpoint):
        word, _, count = (line if "\t" in line else line.replace(" ", "\t")).rpartition("\t")
        value = _count(count)
        if word and value is not None:
            counts[word.lower()] = counts.get(word.lower(), 0.0) + value
        elif line and number > 1:
            raise BadCheckpoint(f"{file}, line {number}: not a word and its count")
    if not sum(counts.values()):
        raise BadCheckpoint(f"{file} contains no word counts")
    return counts


def _count(text: str) -> float | None:
    try:
        count = float(text)
    except ValueError:
        return None
    return count if math.isfinite(count) and count >= 0 else None


def _words(text: TokenizedText) -> dict[int, str]:
    """Number of each word -> its text in lower case."""
    spans: dict[int, tuple[int, int]] = {}
    for word, (start, end) in zip(text.words.tolist(), text.spans.tolist(), strict=True):
        first, last = spans.get(word, (start, end))
        spans[word] = min(first, start), max(last, end)
    return {word: text.text[start:end].lower() for word, (start, end) in spans.items()}
