"""Partners of the words of two texts: the same word, or the nearest one without a partner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Floats
from semblance.models.paraphrases.words import TextWords
from semblance.models.text import Booleans

Rows: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Partners:
    """Words of another text beside the n words of a text.

    Attributes:
        rows: (n,) the word of the other text that has the same stem; or else the nearest of its words whose stem this
            text lacks; -1 if there are none.
        links: (n,) the cosine with that word; 0 without one.
        nearest: (n,) the largest cosine with any word of the other text.
        same: (n,) whether the partner has the same stem.
        crossed: (n,) of content words that are the same, the share of the other ones that stand on the other side of
            it there.
    """

    rows: Rows
    links: Floats
    nearest: Floats
    same: Booleans
    crossed: Floats

    @classmethod
    def join(cls, texts: Sequence[Partners]) -> Partners:
        """Those of one or more texts, one after another."""
        return cls(*(np.concatenate([*map(attrgetter(field.name), texts)]) for field in fields(cls)))


def partners(a: TextWords, b: TextWords) -> tuple[Partners, Partners]:
    """The partners of n >= 1 words in m >= 1 others, and of these in those."""
    cosines = a.vectors @ b.vectors.T
    left, right = _same_words(a, b)
    before, after = _crossed(left, a.content, b.content)
    return _partners(left, right < 0, cosines, before), _partners(right, left < 0, cosines.T, after)


def same_share(words: TextWords, found: Partners) -> float:
    """The share of words with a partner of the same stem; numbers and negations do not count."""
    plain = ~(words.numeric | words.negations)
    return float(found.same[plain].sum() / max(1, plain.sum()))


def negation_weight(a: TextWords, b: TextWords, before: Partners, after: Partners) -> float:
    """Weight of the negations of two texts, from 0 to 1.

    0 if both texts have an odd number of negations, or both an even one; 1 if the other text has a word that is denied;
    or else the mean share of the words that both have: "it never came" may well say the same as "it is lost".
    """
    if (a.negations.sum() - b.negations.sum()) % 2 == 0:
        return 0.0
    if _denies_same(a, before) or _denies_same(b, after):
        return 1.0
    return (same_share(a, before) + same_share(b, after)) / 2


def _denies_same(words: TextWords, found: Partners) -> bool:
    """Whether the other text has a content word after a negation, or before it if none follows."""
    content = np.flatnonzero(words.content & ~words.negations)
    if not len(content):
        return False
    places = np.searchsorted(content, np.flatnonzero(words.negations))
    return bool(found.same[content[np.minimum(places, len(content) - 1)]].any())


def _same_words(a: TextWords, b: TextWords) -> tuple[Rows, Rows]:
    """The partners of one stem: the first with the first, the second with the second, and so on."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for j in reversed(range(len(b))):
        places[b.stems[j]].append(j)
    left, right = [-1] * len(a), [-1] * len(b)
    for i, stem in enumerate(a.stems):
        if places[stem]:
            left[i] = places[stem].pop()
            right[left[i]] = i
    return np.array(left), np.array(right)


def _crossed(left: Rows, content: Booleans, other: Booleans) -> tuple[Floats, Floats]:
    rows = np.flatnonzero((left >= 0) & content & other[left])
    columns = left[rows]
    before, after = np.zeros(len(content), np.float32), np.zeros(len(other), np.float32)
    if (columns[1:] < columns[:-1]).any():
        crossed = (rows[:, None] < rows) & (columns[:, None] > columns)
        before[rows] = after[columns] = (crossed | crossed.T).sum(axis=1) / (len(rows) - 1)
    return before, after


def _partners(same: Rows, free: Booleans, cosines: Floats, crossed: Floats) -> Partners:
    rows, own = same, same >= 0
    if free.any():
        places = np.flatnonzero(free)
        rows = np.where(own, same, places[cosines[:, places].argmax(axis=1)])
    links = np.where(rows < 0, 0, cosines[np.arange(len(rows)), rows])
    return Partners(rows, links, cosines.max(axis=1), own, crossed)
