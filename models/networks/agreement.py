"""Check that token vectors agree with those of torch in float32, on a few probe texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from semblance.models.embeddings import Floats, Precision, unit_rows
from semblance.models.errors import BuildDisagrees
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.runtime import NetworkFacts
from semblance.models.text import Ints
from semblance.models.tokenization.subwords import fast_tokenizer

MIN_COSINE: Mapping[Precision, float] = {  # of each token vector to float32: the type may then serve the same space
    "float32": 0.999,
    "bfloat16": 0.999,
    "int8": 0.995,
}
PROBES = (
    "A cat sleeps on the windowsill.",
    "The central bank raised interest rates by half a percentage point on Thursday.",
    "How do I reset my password if I no longer have access to my e-mail account?",
    "No.",
    "Ärztinnen und Ärzte, 東京 2024: 3.5 % more than £1,000 (see §7) 🙂",
    "the quick brown fox jumps over the lazy dog " * 20,
)


def probe_ids(checkpoint: Checkpoint, facts: NetworkFacts) -> list[Ints]:
    """(n_i,) token ids of each probe, tokenized as a document."""
    tokenizer = fast_tokenizer(facts.tokenizer, facts.max_tokens)
    return [text.ids for text in tokenizer.tokenize(PROBES, checkpoint.prompts["document"], "END")]


def least_cosine(pairs: Iterable[tuple[Floats, Floats]]) -> float:
    """The smallest cosine between corresponding rows of pairs of (n_i, d) arrays.

    A row that is not finite makes it 0 or NaN, so that no threshold is met.

    >>> least_cosine([(np.eye(2), np.eye(2)), (np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]))])
    0.6
    """
    with np.errstate(invalid="ignore"):  # infinity has no direction
        return float(np.min([(unit_rows(x) * unit_rows(y)).sum(axis=1).min() for x, y in pairs]))


def require_agreement(
    exact: Sequence[Floats], vectors: Sequence[Floats], min_cosine: float, subject: str, remedy: str
) -> None:
    """Reject token vectors whose directions differ from the exact ones of torch in float32.

    Raises:
        BuildDisagrees: a cosine is below `min_cosine`; the message names the smallest one and the remedy.
    """
    cosine = least_cosine(zip(exact, vectors, strict=True))
    if not cosine >= min_cosine:  # also if it is NaN
        raise BuildDisagrees(
            f"{subject} has cosine {cosine:.5f} to its float32 vectors, below the limit of {min_cosine}: {remedy}"
        )
