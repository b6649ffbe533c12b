"""Texts by which a runtime or a number type shows that its vectors are still those of float32."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from semblance.models.embeddings import Floats, unit_rows
from semblance.models.errors import BuildDisagrees
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.runtime import NetworkFacts
from semblance.models.text import Ints
from semblance.models.tokenization.subwords import FastTokenizer

AGREEMENT = 0.999  # least cosine to float32, of any token, at which another number type may serve the same space
PROBES = (
    "A cat sleeps on the windowsill.",
    "The central bank raised interest rates by half a percentage point on Thursday.",
    "How do I reset my password if I no longer have access to my e-mail account?",
    "No.",
    "Ärztinnen und Ärzte, 東京 2024: 3.5 % more than £1,000 (see §7) 🙂",
    "the quick brown fox jumps over the lazy dog " * 20,
)


def probe_ids(checkpoint: Checkpoint, facts: NetworkFacts) -> list[Ints]:
    """(n_i,) the tokens of each probe as a document."""
    tokenizer = FastTokenizer(facts.tokenizer, facts.max_tokens)
    return [text.ids for text in tokenizer.tokenize(PROBES, checkpoint.prompts["document"], "END")]


def least_cosine(pairs: Iterable[tuple[Floats, Floats]]) -> float:
    """The least cosine of the rows of (n_i, d) vectors that should be the same.

    A vector that is not finite brings it to 0, or to no number: in either case to nothing that is large enough.

    >>> least_cosine([(np.eye(2), np.eye(2)), (np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]))])
    0.6
    """
    with np.errstate(invalid="ignore"):  # infinity has no direction
        return float(np.min([(unit_rows(x) * unit_rows(y)).sum(axis=1).min() for x, y in pairs]))


def require_agreement(exact: Sequence[Floats], found: Sequence[Floats], least: float, what: str, instead: str) -> None:
    """Refuse token vectors that point elsewhere than those of torch in float32.

    Raises:
        BuildDisagrees: with the least cosine that there is, and what to do instead.
    """
    cosine = least_cosine(zip(exact, found, strict=True))
    if not cosine >= least:  # also where it is no number
        raise BuildDisagrees(f"{what} has cosine {cosine:.5f} to its float32 vectors, less than {least}: {instead}")
