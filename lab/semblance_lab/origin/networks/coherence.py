"""Coherence model of Origin (Eq. 1), and its ranking of every context of a corpus."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from semblance.models.embeddings import Doubles, Floats
from semblance_lab.origin.corpus.corpus import Corpus, open_mapped
from semblance_lab.origin.corpus.tokens import TokenTable
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_settings import CoherenceSettings

CONFIG = "config.json"
WEIGHTS = "model.safetensors"


class Coherence(nn.Module):
    """p(y=1 | s, l, r): probability that sentence s really stands between the sentences l and r.

    With h_x (2h,) the mean of the states of a BiLSTM with h units over the tokens of sentence x, or its two final
    states, concatenated, if the settings say so::

        p(y=1 | s, l, r) = sigmoid(w . [h_l; h_s; h_r] + b + h_l^T A h_s + h_s^T B h_r)    A, B (2h, 2h) of rank k

    Bounds: 0 to 1; every real sentence order has a positive probability.

    The paper has no A and B (`interaction: none`). Its log-odds are a sum of a term of s and a term of l and r, so that
    every s ranks all contexts in the same order; and as a replacement sentence is drawn from the same corpus, neither
    term can detect it: see docs/decisions/0017. With A and B (`bilinear`) a context is still one vector and an offset,
    and a sentence another vector, so that one product of precomputed matrices ranks a sentence in every context.

    The paper uses the final states, and does not specify the initial word vectors. It had ten thousand times the text:
    on little text, the mean and word vectors learned from the same text work better (`init_embeddings`).

    Args:
        pieces: size of the vocabulary.
        settings: `embedding`, `hidden`, `states`, `interaction` and `rank` are read.

    Source: sun-etal-2022-origin, section 3.1, Eq. 1.
    """

    def __init__(self, pieces: int, settings: CoherenceSettings) -> None:
        super().__init__()
        self.settings = settings
        self.pieces = pieces
        self.dim = 2 * settings.hidden
        self.rank = settings.rank if settings.interaction == "bilinear" else 0
        # the names of these modules are keys in saved weights
        self._embeddings = nn.Embedding(pieces, settings.embedding)
        self._lstm = nn.LSTM(settings.embedding, settings.hidden, batch_first=True, bidirectional=True)
        self._left, self._centre, self._right = (nn.Linear(self.dim, 1, bias=side == 1) for side in range(3))
        self._of_context = nn.ModuleList(nn.Linear(self.dim, self.rank, bias=False) for _ in range(2 * bool(self.rank)))
        self._of_centre = nn.Linear(self.dim, 2 * self.rank, bias=False) if self.rank else None

    def init_embeddings(self, vectors: Doubles) -> None:
        """Set token vectors to (pieces, embedding) vectors of norm <= 1, scaled like random ones."""
        with torch.no_grad():
            self._embeddings.weight.copy_(torch.from_numpy(vectors * math.sqrt(vectors.shape[1])))

    def vectors(self, rows: Sequence[NDArray[np.integer[Any]]]) -> Tensor:
        """h (n, 2h) of n sentences of one token or more; independent of the batch."""
        device = self._embeddings.weight.device
        if not rows:
            return torch.zeros(0, self.dim, device=device)
        lengths = torch.tensor([len(row) for row in rows])
        ids = pad_sequence([torch.from_numpy(np.asarray(row, np.int64)) for row in rows], batch_first=True)
        packed = pack_padded_sequence(self._embeddings(ids.to(device)), lengths, batch_first=True, enforce_sorted=False)
        states, (last, _) = self._lstm(packed)
        if self.settings.states == "last":
            return cast("Tensor", last.transpose(0, 1).reshape(len(rows), self.dim))
        padded, _ = pad_packed_sequence(states, batch_first=True)  # with zeros
        return padded.float().sum(dim=1) / lengths[:, None].to(device)

    def logits(self, left: Tensor, center: Tensor, right: Tensor) -> Tensor:
        """(n,) log-odds that each sentence stands between the others, from vectors (n, 2h)."""
        sides = self.of_side(left, 0), self.of_side(right, 1)
        queries, offsets = self.of_center(center)
        keys = torch.cat([side_keys for side_keys, _ in sides], dim=1)
        return (keys * queries).sum(dim=1) + sides[0][1] + offsets + sides[1][1]

    def of_side(self, vectors: Tensor, side: int) -> tuple[Tensor, Tensor]:
        """(n, k) keys of the sentences before (side 0) or after (1), and (n,) their log-odds alone."""
        keys = self._of_context[side](vectors) if self.rank else vectors[:, :0]
        return keys, (self._right if side else self._left)(vectors)[:, 0]

    def of_center(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """(n, 2k) queries for the keys of both sides, and (n,) log-odds of the centre alone."""
        queries = self._of_centre(vectors) if self._of_centre is not None else vectors[:, :0]
        return queries, self._centre(vectors)[:, 0]

    def save(self, folder: Path) -> None:
        """Write sizes and weights into an existing folder."""
        config = {"pieces": self.pieces, "settings": self.settings.model_dump()}
        (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", "utf-8")
        save_model(self, str(folder / WEIGHTS))

    @classmethod
    def open(cls, folder: Path, device: str = "cpu") -> Coherence:
        """Load what `save` wrote, in evaluation mode.

        Raises:
            BadOrigin: it is missing or broken.
        """
        try:
            config = json.loads((folder / CONFIG).read_text("utf-8"))
            network = cls(config["pieces"], CoherenceSettings.model_validate(config["settings"]))
            load_model(network, str(folder / WEIGHTS))
        except FileNotFoundError as error:
            raise BadOrigin(f"{folder} contains no coherence model; run `semblance origin train`") from error
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise BadOrigin(f"the coherence model in {folder} cannot be read: {error}") from error
        return network.to(device).eval()


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
            sides = [(step, *network.of_side(batch, side)) for side, step in enumerate((1, -1))]
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
        self._vectors, self._keys, self._offsets = (torch.from_numpy(array).to(self._device) for array in arrays)

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
        if tuple(array.shape for array in arrays) != shapes:
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
            queries, center_offsets = self._network.of_center(vectors)
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
