"""Batches of losses that draw their own texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import BatchEncoding

from semblance_lab.training.objective import EncodedColumn
from semblance_lab.training.processes import own_part

T = TypeVar("T")


def draw(items: Sequence[T], size: int) -> list[T]:
    """Different items at random, all if there are fewer than `size`.

    With several processes, each gets its part of them.

    By torch's global generator, whose state is part of a checkpoint, so that a run that resumes draws the same.
    """
    return [items[i] for i in own_part(torch.randperm(len(items))[:size]).tolist()]


def tokenize(model: SentenceTransformer, texts: Sequence[str], max_tokens: int) -> tuple[BatchEncoding, Tensor]:
    """Tokenize texts without a prompt, padded, on the model's device.

    Returns:
        The input of the network; and (b, l, 2) where in its text each token begins and ends, in characters.
    """
    lower = getattr(model[0], "do_lower_case", False)
    batch = model.tokenizer(
        [text.lower() for text in texts] if lower else list(texts),
        padding=True,
        truncation=True,
        max_length=max_tokens,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    offsets = batch.pop("offset_mapping")
    return batch.to(model.device), offsets


def encode(model: SentenceTransformer, batch: BatchEncoding) -> EncodedColumn:
    """Encode a tokenized batch."""
    out = model(dict(batch))
    return EncodedColumn(out["token_embeddings"], batch["attention_mask"].bool(), out["sentence_embedding"])
