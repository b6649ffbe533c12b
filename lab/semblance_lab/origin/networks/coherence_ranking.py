"""Rank every context of a corpus for given sentences by coherence, over precomputed vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from semblance.models.embeddings import Floats
from semblance_lab.origin.corpus.array_files import open_mapped
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.token_table import TokenTable
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.coherence import Coherence

VECTORS = "vectors.npy"  # (sentences, 2h) float16, of unit length
KEYS = "keys.npy"  # (contexts, 2k) float16
OFFSETS = "offsets.npy"  # (contexts,) float32
FILES = (VECTORS, KEYS, OFFSETS)

BATCH = 512  # sentences per forward pass
BLOCK = 4_096  # contexts whose keys are converted to float32 at once, so that they stay in the cache of a core


def write_vectors(network: Coherence, tokens: TokenTable, contexts: NDArray[np.int64], folder: Path) -> Iterator[int]:
    """Write the arrays that `CoherenceRanking` opens into a folder.

    Yields:
        Number of new sentences encoded, for progress bars.
    """
    vectors = open_memmap(folder / VECTORS, "w+", np.float16, (len(tokens), network.dim))
    keys = np.lib.format.open_memmap(folder / KEYS, "w+", np.float16, (len(contexts), 2 * network.rank))
    offsets = np.zeros(len(contexts), np.float32)
    for start in range(0, len(tokens), BATCH):
        numbers = np.arange(start, min(start + BATCH, len(tokens)))
        with torch.inference_mode():
            batch = network.vectors(tokens.rows(numbers))
            vectors[numbers] = functional.normalize(batch).cpu().numpy()
            sides = (
                (1, network.left_keys(batch), network.left_offsets(batch)),
                (-1, network.right_keys(batch), network.right_offsets(batch)),
            )
        for side, (step, side_keys, side_offsets) in enumerate(sides):
            at = np.searchsorted(contexts, numbers + step)  # the contexts that have these sentences on that side
            exists = np.flatnonzero(contexts[np.minimum(at, len(contexts) - 1)] == numbers + step)
            keys[at[exists], side * network.rank : (side + 1) * network.rank] = side_keys.cpu().numpy()[exists]
            offsets[at[exists]] += side_offsets.cpu().numpy()[exists]
        yield len(numbers)
    for each in (vectors, keys):
        each.flush()
    np.save(folder / OFFSETS, offsets)


class CoherenceRanking:
    """The coherence model over the whole corpus.

    Args:
        network: the model.
        arrays: vectors, keys and offsets, as `write_vectors` computes them.
    """

    def __init__(self, network: Coherence, arrays: Sequence[NDArray[Any]]) -> None:
        self._network = network
        self._device = next(network.parameters()).device
        # copied to a GPU; on the CPU they stay memory-mapped
        self._vectors, self._keys, self._offsets = (torch.from_numpy(each).to(self._device) for each in arrays)

    @classmethod
    def open(cls, folder: Path, corpus: Corpus, device: str = "cpu") -> CoherenceRanking:
        """Open the model and the vectors in a folder such as `runs/origin/coherence`.

        Raises:
            BadOrigin: they are missing or broken, or belong to another corpus.
        """
        network = Coherence.open(folder, device)
        # copy-on-write, since torch warns of read-only arrays
        arrays = [open_mapped(folder / name, "semblance origin train", "c") for name in FILES]
        shapes = ((len(corpus), network.dim), (len(corpus.contexts()), 2 * network.rank), (len(corpus.contexts()),))
        if tuple(each.shape for each in arrays) != shapes:
            raise BadOrigin(f"the vectors in {folder} were computed from another corpus")
        return cls(network, arrays)

    def log_probabilities(self, rows: Sequence[NDArray[np.integer[Any]]]) -> Floats:
        """log p(y=1 | s, l, r) of every sentence in every context.

        Args:
            rows: token ids of q sentences; several at once take little longer than one.

        Returns:
            (q, contexts), contexts in ascending order.
        """
        with torch.inference_mode():
            vectors = self._network.vectors(rows)
            queries, center_offsets = self._network.queries(vectors), self._network.center_offsets(vectors)
            result = torch.empty(len(rows), len(self._offsets))
            for start in range(0, len(self._offsets), BLOCK):
                block = slice(start, start + BLOCK)
                logits = queries @ self._keys[block].float().T + self._offsets[block] + center_offsets[:, None]
                result[:, block] = functional.logsigmoid(logits)
        return result.numpy()

    def nearest(self, rows: Sequence[NDArray[np.integer[Any]]], limit: int) -> NDArray[np.int64]:
        """(q, limit) numbers of the nearest corpus sentences by cosine, nearest first.

        Fewer columns if the corpus has fewer sentences.
        """
        with torch.inference_mode():
            queries = functional.normalize(self._network.vectors(rows))
            blocks: list[Tensor] = [
                queries @ self._vectors[start : start + BLOCK].float().T
                for start in range(0, len(self._vectors), BLOCK)
            ]
            cosines = torch.cat(blocks, dim=1)
            return cosines.topk(min(limit, cosines.shape[1]), dim=1).indices.cpu().numpy()
