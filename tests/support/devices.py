"""Devices available to tests that must hold on each."""

from __future__ import annotations

import torch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
