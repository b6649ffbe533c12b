"""Origin as the teacher of a harvest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from semblance.models.embeddings import Doubles, Integers
from semblance.models.files.digests import file_sha256
from semblance_lab.origin.harvest.harvest import PairScores
from semblance_lab.origin.scoring.origin import Origin
from semblance_lab.origin.scoring.scoring import FORMS, Form, relative_terms, scores, similarity

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
        rows = self._rows(texts, joined)
        matrices = {form: np.eye(len(texts)) for form in FORMS}
        for i, j in combinations(range(len(texts)), 2):
            both = np.isin(owners, (i, j))
            for form, matrix in matrices.items():
                a, b = rows[form][[i, j]][:, both]
                matrix[i, j] = matrix[j, i] = similarity(a, b, form)
        return PairScores(matrices, np.array([each.fallback for each in sets], np.bool_))

    def _rows(self, texts: Sequence[str], contexts: Integers) -> Mapping[Form, Doubles]:
        """Form -> (texts, n) the scores that it compares, of each text in n contexts."""
        terms = np.stack(self._origin.terms(texts, [contexts] * len(texts)))
        relative = relative_terms(terms, self._origin.reference_terms(contexts))
        absolute_scores, relative_scores = (scores(each, self._origin.contexts.weights) for each in (terms, relative))
        return {"cosine": absolute_scores, "centred": absolute_scores, "double_centred": relative_scores}


def model_digests(folder: Path) -> Mapping[str, str]:
    """SHA-256 of the weights in an origin folder.

    Raises:
        BadCheckpoint: a file cannot be read.
    """
    files = sorted(file for pattern in _WEIGHTS for file in folder.glob(pattern))
    return {str(file.relative_to(folder)): file_sha256(file) for file in files}
