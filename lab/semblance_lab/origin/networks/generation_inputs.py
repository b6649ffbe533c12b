"""Inputs of the generative network: triples of consecutive sentences as token grids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from semblance.models.embeddings import Integers

Row: TypeAlias = NDArray[np.integer[Any]]

OTHER_PARTS = ((1, 2), (0, 2), (0, 1))  # sentence positions of the two others
ENCODER_MARKERS, DECODER_MARKERS = 3, 1  # in the encoder's input, and at the end of what is written
LENGTH_BAND = 4  # tokens: sentences whose lengths are in one band of this width are batched together


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of padding, and of the markers at the start and the end of a sentence."""

    pad: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BertInput:
    """Input of the encoder or the decoder: all (b, tokens).

    Attributes:
        ids: of tokens.
        types: position of each token's sentence: 0 left, 1 centre, 2 right.
        positions: of each token in its sentence; the marker before it is at 0.
        mask: whether there is a token.
    """

    ids: Tensor
    types: Tensor
    positions: Tensor
    mask: Tensor

    def arguments(self, device: torch.device) -> dict[str, Tensor]:
        """Keyword arguments of a BERT of transformers."""
        return {
            "input_ids": self.ids.to(device),
            "token_type_ids": self.types.to(device),
            "position_ids": self.positions.to(device),
            "attention_mask": self.mask.to(device),
        }


@dataclass(frozen=True, slots=True)
class GenerationInputs:
    """A batch of b sentences to write.

    Attributes:
        encoder: [CLS] first other sentence [SEP] second other sentence [SEP].
        decoder: [CLS] and the sentence that is written.
        targets: (tokens,) successor of each token of `decoder`: the sentences, each with [SEP], concatenated.
        lengths: (b,) number of targets of each sentence.
    """

    encoder: BertInput
    decoder: BertInput
    targets: Tensor
    lengths: Tensor


def build_inputs(triples: Sequence[Sequence[Row]], parts: Sequence[int], special: SpecialIds) -> GenerationInputs:
    """Build the batch in which part i of triple i (left, centre, right) is written."""
    start, end = (np.array([mark]) for mark in (special.start, special.end))
    part = np.asarray(parts, np.int64)
    first, second = np.array([OTHER_PARTS[each] for each in parts], np.int64).T
    others = [
        (triple[OTHER_PARTS[at][0]], triple[OTHER_PARTS[at][1]]) for triple, at in zip(triples, parts, strict=True)
    ]
    written = [triple[at] for triple, at in zip(triples, parts, strict=True)]
    # Encoder: the grid is filled from one concatenated array, as a loop over rows would be slow for small networks.
    ends = np.array([len(one) for one, _ in others]) + 1  # position of the [SEP] after the first other sentence
    lengths = np.array([len(one) + len(other) + ENCODER_MARKERS for one, other in others])
    ids, mask = _padded_grid(
        [row for one, other in others for row in (start, one, end, other, end)], lengths, special.pad
    )
    # Types and positions follow from `ends` alone. That [SEP] still belongs to the first sentence; the second sentence
    # has no marker before it, so its tokens count from 1, like those after [CLS]: both get the same positions.
    at = np.arange(ids.shape[1])
    in_first = at <= ends[:, None]
    types = np.where(in_first, first[:, None], second[:, None])
    positions = np.where(mask, np.where(in_first, at, at - ends[:, None]), 0)
    # Decoder: its input is the sentence shifted by the start marker. The targets have the same number of tokens, as
    # each row gains [CLS] here and [SEP] there, so one mask selects the states that predict them.
    lengths = np.array([len(row) for row in written]) + DECODER_MARKERS
    decoder_ids, decoder_mask = _padded_grid([each for row in written for each in (start, row)], lengths, special.pad)
    places = np.broadcast_to(np.arange(decoder_ids.shape[1]), decoder_ids.shape)
    decoder_types = np.broadcast_to(part[:, None], decoder_ids.shape)  # the only input that tells which part to write
    return GenerationInputs(
        BertInput(*map(_tensor, (ids, types, positions, mask))),
        BertInput(*map(_tensor, (decoder_ids, decoder_types, places, decoder_mask))),
        torch.from_numpy(np.concatenate([each for row in written for each in (row, end)]).astype(np.int64)),
        torch.from_numpy(lengths),
    )


def _padded_grid(pieces: Sequence[Row], lengths: Integers, pad: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Fill rows of these lengths with the concatenated pieces, then padding; with the mask."""
    mask: NDArray[np.bool_] = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, pad, np.int64)
    ids[mask] = np.concatenate(pieces)
    return ids, mask


def _tensor(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.array(values))  # a copy: torch warns of read-only arrays


def batches_by_length(read: Integers, written: Integers, limit: int) -> Iterator[Integers]:
    """Yield the numbers of sentences in batches of similar length.

    Args:
        read: (n,) encoder tokens of each.
        written: (n,) decoder tokens of each.
        limit: padded tokens of a batch, read and written together; a longer sentence is a batch of one.
    """
    order = np.lexsort((read, written // LENGTH_BAND))
    first = longest_read = longest_written = 0
    for at, number in enumerate(order):
        wider = max(longest_read, int(read[number])), max(longest_written, int(written[number]))
        if at > first and (at + 1 - first) * sum(wider) > limit:
            yield order[first:at]
            first, wider = at, (int(read[number]), int(written[number]))
        longest_read, longest_written = wider
    if len(order):
        yield order[first:]
