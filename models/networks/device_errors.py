"""What torch raises when a device fails, as the words of this project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from semblance.models.errors import DeviceLost
from semblance.models.networks.cuda_graphs import CAPTURING


@contextmanager
def device_errors(device: torch.device) -> Iterator[None]:
    """Around work on a device: raises DeviceLost where it failed for good."""
    try:
        yield
    except torch.AcceleratorError as error:
        if _answers(device):  # it refused this work only, such as a launch that it is not made for
            raise
        raise DeviceLost(f"{device}: {error}") from error
    except torch.OutOfMemoryError:
        with CAPTURING:
            torch.cuda.empty_cache()  # so that a smaller batch finds the room that this one leaves
        raise


def _answers(device: torch.device) -> bool:
    """Whether it still computes: after an illegal access, say, CUDA answers every call of the process by that error."""
    try:
        return torch.ones(1, device=device).item() == 1
    except torch.AcceleratorError:
        return False
