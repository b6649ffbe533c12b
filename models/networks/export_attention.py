"""Attention over packed texts for graphs: each text becomes a row of a padded grid for this product alone.

All else in a network looks at one token at a time, and need not be padded. Where each token stands in the grid comes in
as numbers, so that the graph holds no loop and no size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

NAME = "gathered"  # of the function among the attentions of transformers


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Where the T tokens of b texts, the longest of l tokens, stand in a grid.

    Attributes:
        tokens: (b, l) the number of the token that stands there; any where there is none.
        real: (b, l) whether one does.
        places: (T,) the number of each token's place, counted row by row.
    """

    tokens: Tensor
    real: Tensor
    places: Tensor


class GatheredNetwork(torch.nn.Module):
    """A `TorchNetwork` over packed texts: (T,) ids and positions and their `Grid` -> (T, d).

    It takes the network over: nothing else can call it any more.
    """

    def __init__(self, whole: Any) -> None:
        super().__init__()
        AttentionInterface.register(NAME, gathered_attention)
        whole.network.set_attn_implementation(NAME)
        self._network, self._head = whole.network, whole.head

    def forward(self, ids: Tensor, positions: Tensor, tokens: Tensor, real: Tensor, places: Tensor) -> Tensor:
        """The token vectors."""
        grid = Grid(tokens, real, places)
        out = self._network(input_ids=ids[None], position_ids=positions[None], grid=grid)
        vectors: Tensor = self._head(out.last_hidden_state[0])
        return vectors


def gathered_attention(  # noqa: PLR0913 - transformers calls it so
    module: torch.nn.Module,  # noqa: ARG001 - likewise
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,  # noqa: ARG001 - likewise; it is None
    *,
    grid: Grid,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Each token attends to the tokens of its own text.

    Args:
        module: the layer that calls.
        query: (1, h, T, d) of h heads.
        key: likewise.
        value: likewise.
        attention_mask: None, for there is no padding.
        grid: where the tokens stand.
        scaling: what products are multiplied by; one over the square root of d by default.
        sliding_window: not supported.

    Returns:
        (1, T, h, d), and no weights.

    Raises:
        ValueError: there is a sliding window.
    """
    if sliding_window is not None:
        raise ValueError("attention within a sliding window is not supported")
    q, k, v = (each[0].transpose(0, 1)[grid.tokens].transpose(1, 2) for each in (query, key, value))  # (b, h, l, d)
    out = scaled_dot_product_attention(q, k, v, attn_mask=grid.real[:, None, None, :], scale=scaling)
    return out.transpose(1, 2).flatten(0, 1)[grid.places][None], None
