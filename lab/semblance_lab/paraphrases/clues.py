"""Clues: what the network reads of pairs of texts, in tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from semblance.models.embeddings import Floats
from semblance.models.paraphrases.partners import Partners, negation_weight, partners
from semblance.models.paraphrases.quantities import differing
from semblance.models.paraphrases.words import TextWords
from semblance.models.protocols import Encoder, Track
from semblance_lab.paraphrases.pairs import Pair

BATCH = 256  # texts that are encoded together
FACTS = ("link", "nearest", "same", "crossed", "content", "plain", "replaced")
"""Columns of the facts of a word: as in `Partners` and `TextWords`; plain is neither a part of a number nor a
negation, replaced has a partner that is another word."""


def words_of_texts(encoder: Encoder, texts: Sequence[str], track: Track) -> Mapping[str, TextWords]:
    """Words of each text, their vectors in float16; texts without a word are left out.

    Args:
        encoder: its token vectors are read.
        texts: that are not blank.
        track: shows progress.
    """
    ordered = sorted(set(texts), key=lambda text: (len(text), text))
    found = {}
    for start in track(range(0, len(ordered), BATCH), "encoding"):
        batch = ordered[start : start + BATCH]
        embedded = encoder.encode(encoder.tokenize(batch, "query", "END"), "tokens")
        for text, embeddings in zip(batch, embedded, strict=True):
            words = TextWords.of(embeddings)
            if len(words):
                found[text] = replace(words, vectors=words.vectors.astype(np.float16))
    return found


class WordBatch(NamedTuple):
    """Clues of m words.

    Attributes:
        vectors: (m, d) float32, at length 1.
        partners: (m, d) float32, the vectors of their partners.
        facts: (m, 7) float32, in the order of `FACTS`.
        pairs: (m,) the pair that each belongs to.
    """

    vectors: Tensor
    partners: Tensor
    facts: Tensor
    pairs: Tensor


class ClueBatch(NamedTuple):
    """Clues of p pairs.

    Attributes:
        words: of the texts a, then of the texts b.
        lacking: (p, 2) numbers of a that b lacks, and of b that a lacks.
        negated: (p,) as `negation_weight`.
        cosine: (p,) of the sums of the vectors of the words.
    """

    words: tuple[WordBatch, WordBatch]
    lacking: Tensor
    negated: Tensor
    cosine: Tensor

    def __len__(self) -> int:
        return len(self.negated)


class _Side(NamedTuple):
    """Words of one text of each pair: where those of a pair begin, their rows, their partners.

    Of a single pair, `starts` holds the number of its words.
    """

    starts: Tensor
    rows: Tensor
    partners: Tensor
    facts: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class ClueTable:
    """The clues of all pairs; the words of each text are stored once."""

    vectors: Tensor
    sides: tuple[_Side, _Side]
    lacking: Tensor
    negated: Tensor
    cosine: Tensor

    @classmethod
    def of(cls, pairs: Sequence[Pair], words: Mapping[str, TextWords], track: Track) -> ClueTable:
        """Clues of pairs.

        Args:
            pairs: one or more; all texts have words.
            words: of each text.
            track: shows progress.
        """
        starts = dict(zip(words, np.cumsum([0, *map(len, words.values())]).tolist(), strict=False))
        sides: tuple[list[_Side], list[_Side]] = ([], [])
        missing, negated, cosines = [], [], []
        for pair in track(pairs, "comparing words"):
            texts = (pair.a, pair.b)
            a, b = both = [_in_float32(words[text]) for text in texts]
            before, after = partners(a, b)
            for k, found in enumerate((before, after)):
                sides[k].append(_side(both[k], found, starts[texts[k]], starts[texts[1 - k]]))
            missing.append([len(numbers) for numbers in differing(a.numbers, b.numbers)])
            negated.append(negation_weight(a, b, before, after))
            cosines.append(_cosine(a.vectors.sum(axis=0), b.vectors.sum(axis=0)))
        return cls(
            vectors=torch.from_numpy(np.concatenate([each.vectors for each in words.values()])),
            sides=(_joined(sides[0]), _joined(sides[1])),
            lacking=torch.tensor(missing, dtype=torch.float32),
            negated=torch.tensor(negated, dtype=torch.float32),
            cosine=torch.tensor(cosines, dtype=torch.float32),
        )

    def __len__(self) -> int:
        return len(self.negated)

    def at(self, rows: Tensor) -> ClueBatch:
        """The clues of some pairs, in this order."""
        a, b = (self._words(side, rows) for side in self.sides)
        return ClueBatch((a, b), self.lacking[rows], self.negated[rows], self.cosine[rows])

    def _words(self, side: _Side, rows: Tensor) -> WordBatch:
        starts = side.starts[rows]
        counts = side.starts[rows + 1] - starts
        pairs = torch.repeat_interleave(torch.arange(len(rows)), counts)
        places = torch.arange(len(pairs)) - (counts.cumsum(0) - counts)[pairs] + starts[pairs]
        own, other = self.vectors[side.rows[places]].float(), self.vectors[side.partners[places]].float()
        return WordBatch(own, other, side.facts[places], pairs)


def _in_float32(words: TextWords) -> TextWords:
    return replace(words, vectors=words.vectors.astype(np.float32))


def _side(words: TextWords, found: Partners, start: int, other_start: int) -> _Side:
    """The words of one text of a pair; a word without a partner has the first word in its place."""
    replaced = (found.rows >= 0) & ~found.same
    plain = ~(words.numeric | words.negations)
    columns = (found.links, found.nearest, found.same, found.crossed, words.content, plain, replaced)
    return _Side(
        starts=torch.tensor([len(words)]),
        rows=start + torch.arange(len(words)),
        partners=other_start + torch.from_numpy(np.maximum(found.rows, 0)),
        facts=torch.from_numpy(np.stack(columns, axis=1).astype(np.float32)),
    )


def _joined(sides: Sequence[_Side]) -> _Side:
    counts, *others = (torch.cat(columns) for columns in zip(*sides, strict=True))
    return _Side(torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]), *others)


def _cosine(a: Floats, b: Floats) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else 0.0
