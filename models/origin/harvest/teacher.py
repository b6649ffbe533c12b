"""Origin as the teacher of a harvest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from semblance.models.files.digests import file_sha256
from semblance.models.origin.harvest.harvest import PairScores
from semblance.models.origin.scoring.origin import Origin
from semblance.models.origin.scoring.scoring import FORMS, scores, similarity

# weights; the metadata of Origin already contains the digests of corpus and vocabulary
_WEIGHTS = ("coherence/**/*.safetensors", "generation/**/*.safetensors")


class OriginTeacher:
    """Scores all pairs of a few sentences, each in the contexts of all, to fill large batches.

    Args:
        origin: computes the scores.
        digests: of the files that it was opened from.
    """

    def __init__(self, origin: Origin, digests: Mapping[str, str]) -> None:
        self._origin = origin
        self._digests = digests

    def about(self) -> Mapping[str, Any]:
        """Everything that its scores depend on: Origin's metadata, and the digests."""
        return {**self._origin.about(), "files": dict(self._digests)}

    def all_pairs(self, texts: Sequence[str]) -> PairScores:
        """Score every text with every text; a text with itself scores 1.

        Raises:
            BadTexts, BadCorpus: as `Origin.context_sets`.
        """
        sets = self._origin.context_sets(texts)
        joined = np.concatenate([each.contexts for each in sets])
        owners = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
        terms = self._origin.terms(texts, [joined] * len(texts))
        rows = np.stack([scores(each, self._origin.contexts.weights) for each in terms])
        matrices = {form: np.eye(len(texts)) for form in FORMS}
        for i, j in combinations(range(len(texts)), 2):
            both = np.isin(owners, (i, j))
            for form, matrix in matrices.items():
                matrix[i, j] = matrix[j, i] = similarity(rows[i, both], rows[j, both], form)
        return PairScores(matrices, np.array([each.fallback for each in sets], np.bool_))


def model_digests(folder: Path) -> Mapping[str, str]:
    """SHA-256 of the weights in an origin folder.

    Raises:
        BadCheckpoint: a file cannot be read.
    """
    files = sorted(file for pattern in _WEIGHTS for file in folder.glob(pattern))
    return {str(file.relative_to(folder)): file_sha256(file) for file in files}
