"""Many texts in batches of similar length, which bound the memory and save padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.encoders.checked import encode_checked
from semblance.models.errors import ModelFailed
from semblance.models.protocols import Encoder
from semblance.models.text import TokenizedText

BATCH_TOKENS = 2048  # in a batch, padding included; larger batches have no higher throughput on a CPU


def encode_in_batches(encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
    """Encode any number of texts.

    Raises:
        ModelFailed, DeviceLost: as `encode_checked`.
    """
    found: dict[int, TokenEmbeddings] = {}
    for batch in batches(tokenized):
        found |= encode_batch(encoder, tokenized, batch, want)
    return [found[at] for at in range(len(tokenized))]


def encode_batch(
    encoder: Encoder, tokenized: Sequence[TokenizedText], batch: Sequence[int], want: Want
) -> dict[int, TokenEmbeddings]:
    """Embeddings of a batch, by the positions of its texts, which errors name too.

    Raises:
        ModelFailed, DeviceLost: as `encode_checked`.
    """
    try:
        found = encode_checked(encoder, [tokenized[at] for at in batch], want)
    except ModelFailed as error:
        raise ModelFailed([replace(each, index=batch[each.index]) for each in error.problems]) from error
    return dict(zip(batch, found, strict=True))


def batches(tokenized: Sequence[TokenizedText]) -> list[list[int]]:
    """Positions of texts of similar length, the longest first: lack of memory shows at once."""
    found: list[list[int]] = []
    room = 0
    for at in sorted(range(len(tokenized)), key=lambda at: len(tokenized[at]), reverse=True):
        if room < len(tokenized[at]) or not found:
            found.append([])
            room = max(BATCH_TOKENS, len(tokenized[at]))
        found[-1].append(at)
        room -= len(tokenized[found[-1][0]])
    return found
