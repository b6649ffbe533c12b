"""The three sentences in a row that a context is made of."""

from __future__ import annotations

from typing import Literal, TypeAlias

Part: TypeAlias = Literal["left", "centre", "right"]
"""Which of three sentences in a row is written from the two others."""

PARTS: tuple[Part, ...] = ("left", "centre", "right")  # by sentence position
