"""Attention over texts packed into one sequence: each token attends to its own text only.

transformers takes the attention of a network from a function registered by name, and passes every other keyword of a
call on to it. A network that uses this interface therefore runs over packed texts unchanged: the caller provides the
position of each token in its own text and, as the keyword `packed`, the layout of the texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from semblance.models.errors import NotExportable

NAME = "packed"  # key of the function in the registry of transformers
KERNEL_TYPES = (torch.bfloat16, torch.float16)  # number types of the flash attention kernel


class TextLayout(Protocol):
    """Where the texts of a packed sequence of T tokens lie, and attention within each of them."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, scaling: float | None, window: int | None) -> Tensor:
        """(T, h, d) query, key and value of h heads -> (T, h, d).

        Args:
            query: one row per token.
            key: likewise.
            value: likewise.
            scaling: factor of the products; 1 / sqrt(d) by default.
            window: if given, tokens attend only to tokens fewer than `window` positions away.
        """


def use_packed_attention(network: Any) -> None:
    """Make a network use `packed_attention`; its calls then need `packed`, a `TextLayout`.

    Raises:
        NotExportable: the attention of this kind of network cannot be replaced.
    """
    if not network._can_set_attn_implementation():  # noqa: SLF001 - asked first, as transformers only prints a warning
        raise NotExportable(f"a {network.config.model_type} has attention of its own, which cannot be replaced")
    AttentionInterface.register(NAME, packed_attention)
    network.set_attn_implementation(NAME)


def packed_attention(  # noqa: PLR0913 - transformers calls it so
    module: torch.nn.Module,  # noqa: ARG001 - likewise
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,  # noqa: ARG001 - likewise; None, because there is no padding
    *,
    packed: TextLayout,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """(1, h, T, d) query, key and value -> (1, T, h, d), and no weights, as for transformers."""
    q, k, v = (each[0].transpose(0, 1) for each in (query, key, value))
    return packed.attend(q, k, v, scaling, sliding_window)[None], None


@dataclass(frozen=True, slots=True, eq=False)
class TextSpans:
    """Layout for torch: the boundaries of the texts.

    Attributes:
        offsets: (b + 1,) int32, the first token of each text, and the end of the last; a text may be empty. Tokens
            behind the last text are padding, whose output is undefined.
        longest: at least the number of tokens of the longest text.
    """

    offsets: Tensor
    longest: int

    def attend(self, query: Tensor, key: Tensor, value: Tensor, scaling: float | None, window: int | None) -> Tensor:
        """See `TextLayout`: by flash attention where there is a kernel, otherwise over padded rows."""
        parts = [query.to(value.dtype), key.to(value.dtype), value]
        has_kernel = value.is_cuda and value.dtype in KERNEL_TYPES
        return (_flash_attention if has_kernel else _padded_attention)(parts, self, scaling, window)


def _flash_attention(parts: list[Tensor], spans: TextSpans, scaling: float | None, window: int | None) -> Tensor:
    """Flash attention of variable length, which exists for half precision on CUDA."""
    from torch.nn.attention.varlen import varlen_attn  # noqa: PLC0415 - needed on CUDA only

    reach = -1 if window is None else window - 1
    q, k, v = parts
    offsets, longest = spans.offsets, spans.longest
    out = varlen_attn(q, k, v, offsets, offsets, longest, longest, scale=scaling, window_size=(reach, reach))
    assert isinstance(out, Tensor)
    return out


def _padded_attention(parts: list[Tensor], spans: TextSpans, scaling: float | None, window: int | None) -> Tensor:
    """The same for any number type and device: texts become padded rows for this product alone."""
    begins, lengths = spans.offsets[:-1].long(), spans.offsets.diff().long()
    positions = torch.arange(spans.longest, device=begins.device)
    real = positions < lengths[:, None]  # (b, longest)
    tokens = (begins[:, None] + positions)[real]
    q, k, v = (_padded_rows(part[tokens], real) for part in parts)
    mask = real[:, None, None, :]
    if window is not None:
        mask = mask & ((positions[:, None] - positions).abs() < window)
    rows = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling)
    out = torch.zeros_like(parts[0])
    out[tokens] = rows.transpose(1, 2)[real]
    return out


def _padded_rows(packed: Tensor, real: Tensor) -> Tensor:
    """(T, h, d) -> (b, h, longest, d)."""
    rows = packed.new_zeros(*real.shape, *packed.shape[1:])
    rows[real] = packed
    return rows.transpose(1, 2)
