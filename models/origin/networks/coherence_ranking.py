"""Sentences in every context of the corpus at once, over vectors that were computed before."""

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
from semblance.models.origin.corpus.array_files import mapped
from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.networks.coherence import Coherence

VECTORS = "vectors.npy"  # (sentences, 2h) float16, of length 1
KEYS = "keys.npy"  # (contexts, 2k) float16
OFFSETS = "offsets.npy"  # (contexts,) float32
FILES = (VECTORS, KEYS, OFFSETS)

AT_ONCE = 512  # sentences that pass through the network at once
BLOCK = 4_096  # contexts whose keys are widened at once: they stay in the cache of a core


def write_vectors(network: Coherence, tokens: TokenTable, contexts: NDArray[np.int64], folder: Path) -> Iterator[int]:
    """Write what `CoherenceRanking` reads into a folder.

    Yields:
        How many more sentences are done, for whoever watches.
    """
    vectors = open_memmap(folder / VECTORS, "w+", np.float16, (len(tokens), network.dim))
    keys = np.lib.format.open_memmap(folder / KEYS, "w+", np.float16, (len(contexts), 2 * network.rank))
    offsets = np.zeros(len(contexts), np.float32)
    for start in range(0, len(tokens), AT_ONCE):
        numbers = np.arange(start, min(start + AT_ONCE, len(tokens)))
        with torch.inference_mode():
            found = network.vectors(tokens.rows(numbers))
            vectors[numbers] = functional.normalize(found).cpu().numpy()
            sides = (
                (1, network.left_keys(found), network.left_offsets(found)),
                (-1, network.right_keys(found), network.right_offsets(found)),
            )
        for side, (step, its_keys, its_offsets) in enumerate(sides):
            at = np.searchsorted(contexts, numbers + step)  # the contexts that have these sentences on that side
            there = np.flatnonzero(contexts[np.minimum(at, len(contexts) - 1)] == numbers + step)
            keys[at[there], side * network.rank : (side + 1) * network.rank] = its_keys.cpu().numpy()[there]
            offsets[at[there]] += its_offsets.cpu().numpy()[there]
        yield len(numbers)
    for each in (vectors, keys):
        each.flush()
    np.save(folder / OFFSETS, offsets)


class CoherenceRanking:
    """The coherence model over the whole corpus.

    Args:
        network: the model.
        arrays: vectors, keys and offsets, as `write_vectors` makes them.
    """

    def __init__(self, network: Coherence, arrays: Sequence[NDArray[Any]]) -> None:
        self._network = network
        self._device = next(network.parameters()).device
        # on a GPU they are copied to it; on the CPU they stay where they lie
        self._vectors, self._keys, self._offsets = (torch.from_numpy(each).to(self._device) for each in arrays)

    @classmethod
    def open(cls, folder: Path, corpus: Corpus, device: str = "cpu") -> CoherenceRanking:
        """The model and the vectors in a folder such as `runs/origin/coherence`.

        Raises:
            BadOrigin: they are not there, are broken, or belong to another corpus.
        """
        network = Coherence.open(folder, device)
        # as copies on write, since torch warns of arrays that cannot be written to
        arrays = [mapped(folder / name, "semblance origin train", "c") for name in FILES]
        shapes = ((len(corpus), network.dim), (len(corpus.contexts()), 2 * network.rank), (len(corpus.contexts()),))
        if tuple(each.shape for each in arrays) != shapes:
            raise BadOrigin(f"the vectors in {folder} were made of another corpus")
        return cls(network, arrays)

    def log_probabilities(self, rows: Sequence[NDArray[np.integer[Any]]]) -> Floats:
        """log p(y=1 | s, l, r) of every sentence in every context.

        Args:
            rows: the ids of q sentences; several at once take little longer than one.

        Returns:
            (q, contexts), contexts in ascending order.
        """
        with torch.inference_mode():
            asked = self._network.vectors(rows)
            queries, own = self._network.queries(asked), self._network.centre_offsets(asked)
            found = torch.empty(len(rows), len(self._offsets))
            for start in range(0, len(self._offsets), BLOCK):
                block = slice(start, start + BLOCK)
                logits = queries @ self._keys[block].float().T + self._offsets[block] + own[:, None]
                found[:, block] = functional.logsigmoid(logits)
        return found.numpy()

    def nearest(self, rows: Sequence[NDArray[np.integer[Any]]], limit: int) -> NDArray[np.int64]:
        """(q, limit) numbers of the sentences of the corpus with the nearest vectors by cosine, nearest first.

        Fewer columns where the corpus has fewer sentences.
        """
        with torch.inference_mode():
            asked = functional.normalize(self._network.vectors(rows))
            cosines: list[Tensor] = [
                asked @ self._vectors[start : start + BLOCK].float().T for start in range(0, len(self._vectors), BLOCK)
            ]
            every = torch.cat(cosines, dim=1)
            return every.topk(min(limit, every.shape[1]), dim=1).indices.cpu().numpy()
