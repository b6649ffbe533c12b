"""In which number type the networks of Origin compute."""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch

Asked: TypeAlias = Literal["auto", "float32", "bfloat16"]


def autocast(device: str, asked: Asked = "auto") -> torch.autocast:
    """The context in which a network computes in bfloat16, where that is asked for.

    `auto` is bfloat16 on a GPU and on processors that multiply in it, and float32 on others, which would be slower.
    """
    kind = torch.device(device).type
    fast = kind != "cpu" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    return torch.autocast(kind, torch.bfloat16, enabled=asked == "bfloat16" or (asked == "auto" and fast))
