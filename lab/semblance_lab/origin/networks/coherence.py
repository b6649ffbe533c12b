"""Coherence model of Origin: whether a sentence stands between two others (Eq. 1)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from semblance.models.embeddings import Doubles
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
        keys = torch.cat([self.left_keys(left), self.right_keys(right)], dim=1)
        return (
            (keys * self.queries(center)).sum(dim=1)
            + self.left_offsets(left)
            + self.center_offsets(center)
            + self.right_offsets(right)
        )

    def left_keys(self, left: Tensor) -> Tensor:
        """(n, k) keys of the sentences before."""
        return cast("Tensor", self._of_context[0](left)) if self.rank else left[:, :0]

    def right_keys(self, right: Tensor) -> Tensor:
        """(n, k) keys of the sentences after."""
        return cast("Tensor", self._of_context[1](right)) if self.rank else right[:, :0]

    def queries(self, center: Tensor) -> Tensor:
        """(n, 2k) queries of sentences: for the keys of the sentence before, then of the one after."""
        return cast("Tensor", self._of_centre(center)) if self._of_centre is not None else center[:, :0]

    def left_offsets(self, left: Tensor) -> Tensor:
        """(n,) log-odds that depend on the sentence before alone."""
        return cast("Tensor", self._left(left))[:, 0]

    def center_offsets(self, center: Tensor) -> Tensor:
        """(n,) log-odds that depend on the sentence in the centre alone."""
        return cast("Tensor", self._centre(center))[:, 0]

    def right_offsets(self, right: Tensor) -> Tensor:
        """(n,) log-odds that depend on the sentence after alone."""
        return cast("Tensor", self._right(right))[:, 0]

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
