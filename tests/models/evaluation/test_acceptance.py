"""What a build must hold shows one vector that is off, whichever text it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.evaluation.acceptance import BATCH, TEXTS, company
from semblance.models.text import TokenizedText
from tests.support.drawn_encoder import DrawnEncoder

TEXTS_GIVEN = [f"text number {n}" for n in range(TEXTS)]


class OneBroken(DrawnEncoder):
    """Makes no number of the last text of its second batch."""

    batches = 0

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        *others, last = super().encode(tokenized, want)
        self.batches += len(tokenized) == BATCH
        if len(tokenized) == BATCH and self.batches == 2:
            last = replace(last, vectors=np.full_like(last.vectors, np.inf), given=np.full(self.dim, np.inf))
        return [*others, last]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_vector_that_is_no_number_in_company_fails_every_condition() -> None:
    sound = company(DrawnEncoder("m", "s", 8), TEXTS_GIVEN, lambda each, _: each)
    assert all(condition.holds for condition in sound)
    broken = company(OneBroken("m", "s", 8), TEXTS_GIVEN, lambda each, _: each)
    assert not any(condition.holds for condition in broken)
