"""In which number type the networks of Origin compute."""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch

Precision: TypeAlias = Literal["float32", "bfloat16"]
Asked: TypeAlias = Literal["auto", Precision]


def precision(device: str, asked: Asked = "auto") -> Precision:
    """What is computed in on a device.

    `auto` is bfloat16 on a GPU and on processors that multiply in it, and float32 on others, which would be slower. It
    is what sentences are always scored in, whatever the networks were trained in; so scores of one device differ a
    little from those of another, and what they were made on is told with them.
    """
    kind = torch.device(device).type
    fast = kind != "cpu" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    return asked if asked != "auto" else "bfloat16" if fast else "float32"


def autocast(device: str, asked: Asked = "auto") -> torch.autocast:
    """The context in which a network computes in bfloat16, where `precision` says so."""
    enabled = precision(device, asked) == "bfloat16"
    return torch.autocast(torch.device(device).type, torch.bfloat16, enabled=enabled)
