"""Three sentences in a row as what the generative network reads and writes."""

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

GIVEN = ((1, 2), (0, 2), (0, 1))  # sentence positions of the two others
MARKS_READ, MARKS_WRITTEN = 3, 1  # markers among what is read, and at the end of what is written
NARROW = 4  # tokens: sentences whose lengths fall into one band of this width are written together


@dataclass(frozen=True, slots=True)
class Marks:
    """The ids of padding, and of the markers at the start and the end of a sentence."""

    pad: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Side:
    """What the encoder reads or the decoder is given: all (b, tokens).

    Attributes:
        ids: of tokens.
        types: the position of each token's sentence: 0 left, 1 centre, 2 right.
        positions: of each token in its sentence, the marker before it at 0.
        mask: whether there is a token.
    """

    ids: Tensor
    types: Tensor
    positions: Tensor
    mask: Tensor

    def arguments(self, device: torch.device) -> dict[str, Tensor]:
        """As a BERT of transformers takes it."""
        return {
            "input_ids": self.ids.to(device),
            "token_type_ids": self.types.to(device),
            "position_ids": self.positions.to(device),
            "attention_mask": self.mask.to(device),
        }


@dataclass(frozen=True, slots=True)
class Inputs:
    """A batch of b sentences to write.

    Attributes:
        read: [CLS] first given sentence [SEP] second given sentence [SEP].
        given: [CLS] and the sentence that is written.
        targets: (tokens,) what each token of `given` is followed by: the sentences and [SEP], one after the other.
        lengths: (b,) how many targets each sentence has.
    """

    read: Side
    given: Side
    targets: Tensor
    lengths: Tensor


def inputs(triples: Sequence[Sequence[Row]], parts: Sequence[int], marks: Marks) -> Inputs:
    """The batch in which each three sentences (left, centre, right) has its part of that sentence position written."""
    start, end = (np.array([mark]) for mark in (marks.start, marks.end))
    part = np.asarray(parts, np.int64)
    first, second = np.array([GIVEN[each] for each in parts], np.int64).T
    given = [(three[GIVEN[one][0]], three[GIVEN[one][1]]) for three, one in zip(triples, parts, strict=True)]
    written = [three[one] for three, one in zip(triples, parts, strict=True)]
    ends = np.array([len(one) for one, _ in given]) + 1  # where the marker after the first given sentence stands
    lengths = np.array([len(one) + len(other) + MARKS_READ for one, other in given])
    ids, mask = _grid([each for one, other in given for each in (start, one, end, other, end)], lengths, marks.pad)
    at = np.arange(ids.shape[1])
    in_first = at <= ends[:, None]
    types = np.where(in_first, first[:, None], second[:, None])
    positions = np.where(mask, np.where(in_first, at, at - ends[:, None]), 0)
    lengths = np.array([len(row) for row in written]) + MARKS_WRITTEN
    given_ids, given_mask = _grid([each for row in written for each in (start, row)], lengths, marks.pad)
    places = np.broadcast_to(np.arange(given_ids.shape[1]), given_ids.shape)
    return Inputs(
        Side(*map(_tensor, (ids, types, positions, mask))),
        Side(*map(_tensor, (given_ids, np.broadcast_to(part[:, None], given_ids.shape), places, given_mask))),
        torch.from_numpy(np.concatenate([each for row in written for each in (row, end)]).astype(np.int64)),
        torch.from_numpy(lengths),
    )


def _grid(pieces: Sequence[Row], lengths: Integers, pad: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Rows of these lengths, filled by the pieces one after the other, then by padding; and where they are filled."""
    mask: NDArray[np.bool_] = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, pad, np.int64)
    ids[mask] = np.concatenate(pieces)
    return ids, mask


def _tensor(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.array(values))  # a copy: torch warns of arrays that cannot be written to


def by_length(read: Integers, written: Integers, most: int) -> Iterator[Integers]:
    """Numbers of sentences in batches of about one length.

    Args:
        read: (n,) tokens that are read for each.
        written: (n,) tokens that are written.
        most: padded tokens of a batch, read and written together; a sentence that is longer stands alone.
    """
    order = np.lexsort((read, written // NARROW))
    first = longest_read = longest_written = 0
    for at, number in enumerate(order):
        wider = max(longest_read, int(read[number])), max(longest_written, int(written[number]))
        if at > first and (at + 1 - first) * sum(wider) > most:
            yield order[first:at]
            first, wider = at, (int(read[number]), int(written[number]))
        longest_read, longest_written = wider
    if len(order):
        yield order[first:]
