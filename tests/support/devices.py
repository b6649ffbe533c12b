"""The devices that there are, for tests of what should be the same on each."""

from __future__ import annotations

import torch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
