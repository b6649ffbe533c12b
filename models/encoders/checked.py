"""Vectors that fit their texts and are finite, or an error that names the texts."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.errors import ModelFailed, TextProblem
from semblance.models.protocols import Encoder
from semblance.models.text import TokenizedText


def encode_checked(encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
    """Encode a batch of texts, and again alone each that another one of them may have spoilt.

    Raises:
        ModelFailed: names the texts to which the encoder gives no vectors, too few, or some with NaN or infinity.
        DeviceLost: the device failed permanently.
    """
    found = encoder.encode(tokenized, want)
    if not (doubtful := unusable(found, tokenized, encoder.dim, want)):
        return found
    alone = {at: encoder.encode([tokenized[at]], want) for at in doubtful}
    failed = [at for at, own in alone.items() if unusable(own, [tokenized[at]], encoder.dim, want)]
    if failed:
        raise model_failed(encoder, failed)
    return [alone[at][0] if at in alone else found[at] for at in range(len(tokenized))]


def unusable(
    found: Sequence[TokenEmbeddings], tokenized: Sequence[TokenizedText], dim: int, want: Want
) -> Sequence[int]:
    """Positions of the texts whose embeddings are missing, of another shape, or not finite."""
    if len(found) != len(tokenized):
        return range(len(tokenized))
    pairs = zip(found, tokenized, strict=True)
    return [at for at, (own, text) in enumerate(pairs) if not own.fits(len(text), dim, want)]


def model_failed(encoder: Encoder, positions: Sequence[int]) -> ModelFailed:
    """The error that names texts by their positions."""
    detail = f"the model {encoder.name} fails on it, or gives it vectors that are not finite, as damaged weights do"
    return ModelFailed([TextProblem(at, ModelFailed.code, detail) for at in positions])
