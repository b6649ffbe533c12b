"""Origin as the teacher of a harvest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from semblance.models.files.digests import file_sha256
from semblance.models.origin.harvest.harvest import AllPairs
from semblance.models.origin.scoring.origin import Origin
from semblance.models.origin.scoring.scoring import FORMS, scores, similarity

_DECIDE = ("coherence/**/*.safetensors", "generation/**/*.safetensors")  # Origin itself tells corpus and vocabulary


class OriginTeacher:
    """Scores all pairs of a few sentences: each in the contexts of all of them at once, which fills large batches.

    Args:
        origin: what scores.
        digests: of the files that it was opened from.
    """

    def __init__(self, origin: Origin, digests: Mapping[str, str]) -> None:
        self._origin = origin
        self._digests = digests

    def about(self) -> Mapping[str, Any]:
        """The digests, and what Origin says of itself, with those of corpus and vocabulary."""
        return {**self._origin.about(), "files": dict(self._digests)}

    def all_pairs(self, texts: Sequence[str]) -> AllPairs:
        """Every text with every text; one with itself is 1.

        Raises:
            BadTexts, BadCorpus: as `Origin.context_sets`.
        """
        chosen = self._origin.context_sets(texts)
        sets = [each.contexts for each in chosen]
        joined = np.concatenate(sets)
        owners = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
        terms = self._origin.terms(texts, [joined] * len(texts))
        rows = np.stack([scores(each, self._origin.contexts.weights) for each in terms])
        found = {form: np.eye(len(texts)) for form in FORMS}
        for i, j in combinations(range(len(texts)), 2):
            both = np.isin(owners, (i, j))
            for form, matrix in found.items():
                matrix[i, j] = matrix[j, i] = similarity(rows[i, both], rows[j, both], form)
        return AllPairs(found, np.array([each.fallback for each in chosen], np.bool_))


def digests(folder: Path) -> Mapping[str, str]:
    """SHA-256 of the files of an origin folder that decide what its scores are, beside corpus and vocabulary.

    Raises:
        BadCheckpoint: one cannot be read.
    """
    files = sorted(file for pattern in _DECIDE for file in folder.glob(pattern))
    return {str(file.relative_to(folder)): file_sha256(file) for file in files}
