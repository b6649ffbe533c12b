"""Does a sentence stand between its neighbours? The discriminative model of Origin (Eq. 1)."""

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
from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.origin_settings import CoherenceSettings

CONFIG = "config.json"
WEIGHTS = "model.safetensors"


class Coherence(nn.Module):
    """p(y=1 | s, l, r): whether sentence s stands between the sentences l and r, or was put there.

    With h_x (2h,) the mean of the states of a BiLSTM with h units over the tokens of sentence x, or its two final ones
    where the settings say so, side by side::

        p(y=1 | s, l, r) = sigmoid(w . [h_l; h_s; h_r] + b + h_l^T A h_s + h_s^T B h_r)    A, B (2h, 2h) of rank k

    Bounds: 0 to 1; every real sentence order has some probability.

    The paper has no A and B (`interaction: none`). Its log-odds are a sum of what s says and of what l and r say, so
    that every s puts all contexts in one and the same order; and as a sentence that replaces another is drawn from the
    same corpus, neither sum can tell the two apart: see docs/decisions/0017. With A and B (`bilinear`) all of a context
    is still one row of numbers and an offset, and all of a sentence another, so that a sentence is ranked in every
    context by one product of matrices over what was computed before.

    The paper has the final states, and does not say what its word vectors start from. It had ten thousand times the
    text: little text teaches more by the mean, and from word vectors of the same text (`start_from`).

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
        self._embeddings = nn.Embedding(pieces, settings.embedding)
        self._lstm = nn.LSTM(settings.embedding, settings.hidden, batch_first=True, bidirectional=True)
        self._left, self._centre, self._right = (nn.Linear(self.dim, 1, bias=side == 1) for side in range(3))
        self._of_context = nn.ModuleList(nn.Linear(self.dim, self.rank, bias=False) for _ in range(2 * bool(self.rank)))
        self._of_centre = nn.Linear(self.dim, 2 * self.rank, bias=False) if self.rank else None

    def start_from(self, vectors: Doubles) -> None:
        """Let tokens start from vectors (pieces, embedding) of length 1 at most, made as long as chance would."""
        with torch.no_grad():
            self._embeddings.weight.copy_(torch.from_numpy(vectors * math.sqrt(vectors.shape[1])))

    def vectors(self, rows: Sequence[NDArray[np.integer[Any]]]) -> Tensor:
        """h (n, 2h) of n sentences of one token or more; the same for a sentence alone and in any batch."""
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

    def logits(self, left: Tensor, centre: Tensor, right: Tensor) -> Tensor:
        """(n,) log-odds that each sentence stands between the two others, of their vectors (n, 2h)."""
        keys = torch.cat([self.left_keys(left), self.right_keys(right)], dim=1)
        return (
            (keys * self.queries(centre)).sum(dim=1)
            + self.left_offsets(left)
            + self.centre_offsets(centre)
            + self.right_offsets(right)
        )

    def left_keys(self, left: Tensor) -> Tensor:
        """(n, k) what the sentence before says of the one that follows it."""
        return cast("Tensor", self._of_context[0](left)) if self.rank else left[:, :0]

    def right_keys(self, right: Tensor) -> Tensor:
        """(n, k) what the sentence after says of the one that it follows."""
        return cast("Tensor", self._of_context[1](right)) if self.rank else right[:, :0]

    def queries(self, centre: Tensor) -> Tensor:
        """(n, 2k) what a sentence says of its neighbours: of the one before, then of the one after."""
        return cast("Tensor", self._of_centre(centre)) if self._of_centre is not None else centre[:, :0]

    def left_offsets(self, left: Tensor) -> Tensor:
        """(n,) what the sentence before adds by itself."""
        return cast("Tensor", self._left(left))[:, 0]

    def centre_offsets(self, centre: Tensor) -> Tensor:
        """(n,) what a sentence adds by itself."""
        return cast("Tensor", self._centre(centre))[:, 0]

    def right_offsets(self, right: Tensor) -> Tensor:
        """(n,) what the sentence after adds by itself."""
        return cast("Tensor", self._right(right))[:, 0]

    def save(self, folder: Path) -> None:
        """Write its sizes and weights into a folder that is there."""
        config = {"pieces": self.pieces, "settings": self.settings.model_dump()}
        (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", "utf-8")
        save_model(self, str(folder / WEIGHTS))

    @classmethod
    def open(cls, folder: Path, device: str = "cpu") -> Coherence:
        """What `save` wrote, ready to be asked.

        Raises:
            BadOrigin: it is not there, or is broken.
        """
        try:
            config = json.loads((folder / CONFIG).read_text("utf-8"))
            network = cls(config["pieces"], CoherenceSettings.model_validate(config["settings"]))
            load_model(network, str(folder / WEIGHTS))
        except FileNotFoundError as error:
            raise BadOrigin(f"{folder} holds no coherence model: make it by `semblance origin train`") from error
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise BadOrigin(f"the coherence model in {folder} cannot be read: {error}") from error
        return network.to(device).eval()
