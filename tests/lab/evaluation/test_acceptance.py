"""Acceptance conditions detect a single wrong vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.text import TokenizedText
from semblance_lab.evaluation.acceptance import BATCH, TEXTS, batch_conditions
from tests.support.random_encoder import RandomEncoder

SAMPLE = [f"text number {n}" for n in range(TEXTS)]


class OneBroken(RandomEncoder):
    """Encoder with an infinite vector for the last text of its second batch."""

    batches = 0

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        *others, last = super().encode(tokenized, want)
        self.batches += len(tokenized) == BATCH
        if len(tokenized) == BATCH and self.batches == 2:
            last = replace(last, vectors=np.full_like(last.vectors, np.inf), pooled_vector=np.full(self.dim, np.inf))
        return [*others, last]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinite_vector_in_a_batch_fails_every_condition() -> None:
    sound = batch_conditions(RandomEncoder("m", "s", 8), SAMPLE, lambda each, _: each)
    assert all(condition.holds for condition in sound)
    broken = batch_conditions(OneBroken("m", "s", 8), SAMPLE, lambda each, _: each)
    assert not any(condition.holds for condition in broken)
