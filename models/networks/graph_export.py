"""Export a network as a graph over packed texts, for runtimes that read graphs of torch.

All layers but attention process each token separately and need no padding. For attention alone, each text becomes a row
of a padded grid; the indices of the grid are inputs, so that the graph contains neither a loop nor a fixed size.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from semblance.models.embeddings import Floats
from semblance.models.errors import NotExportable
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import probe_ids, require_agreement
from semblance.models.networks.packed_attention import use_packed_attention
from semblance.models.networks.shape_buckets import graph_inputs
from semblance.models.networks.torch_network import TorchNetwork
from semblance.models.runtime import NetworkFacts

MIN_COSINE = 0.99999  # in float32, of the vectors of packed texts to those of each text alone


@dataclass(frozen=True, slots=True, eq=False)
class TokenGrid:
    """`TextLayout` for graphs: T packed tokens of b texts as a padded grid, l tokens wide.

    Attributes:
        tokens: (b, l) index of the token in each cell; any index in an empty cell.
        real: (b, l) whether the cell holds a token.
        places: (T,) cell of each token, counted row by row.
    """

    tokens: Tensor
    real: Tensor
    places: Tensor

    def attend(self, query: Tensor, key: Tensor, value: Tensor, scaling: float | None, window: int | None) -> Tensor:
        """See `TextLayout`.

        Raises:
            ValueError: there is a sliding window.
        """
        if window is not None:
            raise ValueError("attention within a sliding window is not supported")
        q, k, v = (each[self.tokens].transpose(1, 2) for each in (query, key, value))  # (b, h, l, d)
        out = scaled_dot_product_attention(q, k, v, attn_mask=self.real[:, None, None, :], scale=scaling)
        return out.transpose(1, 2).flatten(0, 1)[self.places]


class ExportableNetwork(torch.nn.Module):
    """A `TorchNetwork` over packed texts: (T,) ids, positions and a `TokenGrid` -> (T, d).

    It changes the attention of that network, which cannot be called directly afterwards.
    """

    def __init__(self, whole: Any) -> None:
        super().__init__()
        use_packed_attention(whole.network)
        self._network, self._head = whole.network, whole.head

    def forward(self, ids: Tensor, positions: Tensor, tokens: Tensor, real: Tensor, places: Tensor) -> Tensor:
        """The token vectors; parameter names are those of the inputs in the exported file."""
        grid = TokenGrid(tokens, real, places)
        out = self._network(input_ids=ids[None], position_ids=positions[None], packed=grid)
        vectors: Tensor = self._head(out.last_hidden_state[0])
        return vectors


def export_graph(checkpoint: Checkpoint) -> tuple[Any, NetworkFacts, list[Floats]]:
    """Export an `ExportableNetwork`: its graph, its facts, and the exact vectors of the probes.

    Raises:
        BadCheckpoint: see `TorchNetwork`.
        NotExportable: its attention cannot be replaced, or depends on more than the tokens of a text; or torch cannot
            export it.
    """
    whole = TorchNetwork(checkpoint)
    facts = whole.facts
    probes = probe_ids(checkpoint, facts)
    exact = [whole.encode_one(probe) for probe in probes]
    network = ExportableNetwork(whole)
    ends = np.cumsum([len(each) for each in probes])
    inputs = tuple(torch.from_numpy(graph_input) for graph_input in graph_inputs(probes, facts))
    tokens, texts = {0: torch.export.Dim("tokens", min=2)}, torch.export.Dim("texts", min=1)
    grid = {0: texts, 1: torch.export.Dim("width", min=2)}
    try:
        with warnings.catch_warnings(action="ignore"), torch.inference_mode():
            hidden = network(*inputs).numpy()
        packed = np.split(hidden, ends)[:-1]  # the last part is padding
        require_agreement(exact, packed, MIN_COSINE, f"{checkpoint.folder} over packed texts", "run it by torch")
        with warnings.catch_warnings(action="ignore"):  # deprecations within torch
            graph = torch.export.export(network, inputs, dynamic_shapes=(tokens, tokens, grid, grid, tokens))
    except Exception as error:  # torch raises many types, depending on the network
        raise NotExportable(f"{checkpoint.folder} cannot be exported: {error}") from error
    return graph, facts, exact
