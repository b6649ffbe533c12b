"""Attention over many texts that stand in one sequence, one after another, without padding.

transformers lets a network take its attention from a function registered by name, and hands every other keyword of a
call on to it. So a network whose attention goes through that interface runs over packed texts as it is: it gets the
position of each token in its own text, and this function, which keeps each text to itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

NAME = "packed"  # of the function among the attentions of transformers
FAST = (torch.bfloat16, torch.float16)  # what the kernel of flash attention computes in


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Where the texts of a packed sequence of T tokens lie.

    Attributes:
        offsets: (b + 1,) int32, where each text begins, and where the last ends; a text may be empty. What lies behind
            the last belongs to no text: what comes out there means nothing.
        longest: at least the tokens of any text.
    """

    offsets: Tensor
    longest: int


def use_packed_attention(network: Any) -> None:
    """Have a network of transformers attend by `packed_attention`, if it can: its calls need `packed=Spans` then."""
    AttentionInterface.register(NAME, packed_attention)
    network.set_attn_implementation(NAME)


def packed_attention(  # noqa: PLR0913 - transformers calls it so
    module: torch.nn.Module,  # noqa: ARG001 - likewise
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,  # noqa: ARG001 - likewise; it is None
    *,
    packed: Spans,
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
        packed: which tokens make a text.
        scaling: what products are multiplied by; one over the square root of d by default.
        sliding_window: if given, tokens attend only to those nearer than so many places.

    Returns:
        (1, T, h, d), and no weights.
    """
    parts = [each[0].transpose(0, 1).to(value.dtype) for each in (query, key, value)]  # (T, h, d)
    fast = value.is_cuda and value.dtype in FAST
    out = (_by_kernel if fast else _by_rows)(parts, packed, scaling, sliding_window)
    return out[None], None


def _by_kernel(parts: list[Tensor], packed: Spans, scaling: float | None, window: int | None) -> Tensor:
    """Flash attention of variable length, which exists for half precision on CUDA."""
    from torch.nn.attention.varlen import varlen_attn  # noqa: PLC0415 - where there is no CUDA, nobody needs it

    reach = -1 if window is None else window - 1
    q, k, v = parts
    out = varlen_attn(
        q,
        k,
        v,
        packed.offsets,
        packed.offsets,
        packed.longest,
        packed.longest,
        scale=scaling,
        window_size=(reach, reach),
    )
    assert isinstance(out, Tensor)
    return out


def _by_rows(parts: list[Tensor], packed: Spans, scaling: float | None, window: int | None) -> Tensor:
    """The same for any number type and device: each text a row of its own, padded for this product alone."""
    begins, lengths = packed.offsets[:-1].long(), packed.offsets.diff().long()
    place = torch.arange(packed.longest, device=begins.device)
    real = place < lengths[:, None]  # (b, longest)
    at = (begins[:, None] + place)[real]
    q, k, v = (_rows(part[at], real) for part in parts)
    mask = real[:, None, None, :]
    if window is not None:
        mask = mask & ((place[:, None] - place).abs() < window)
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling)
    packed_out = torch.zeros_like(parts[0])
    packed_out[at] = out.transpose(1, 2)[real]
    return packed_out


def _rows(packed: Tensor, real: Tensor) -> Tensor:
    """(T, h, d) -> (b, h, longest, d)."""
    rows = packed.new_zeros(*real.shape, *packed.shape[1:])
    rows[real] = packed
    return rows.transpose(1, 2)
