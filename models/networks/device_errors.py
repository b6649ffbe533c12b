"""Translate device failures of torch into errors of this project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from semblance.models.errors import DeviceLost
from semblance.models.networks.cuda_graphs import CAPTURE_LOCK


@contextmanager
def device_errors(device: torch.device) -> Iterator[None]:
    """Context of work on a device; raises DeviceLost if the device failed permanently."""
    try:
        yield
    except torch.AcceleratorError as error:
        if _responds(device):  # only this work was rejected, such as a launch with an invalid configuration
            raise
        raise DeviceLost(f"{device}: {error}") from error
    except torch.OutOfMemoryError:
        with CAPTURE_LOCK:
            torch.cuda.empty_cache()  # so that a smaller batch can use the memory that this one leaves
        raise


def _responds(device: torch.device) -> bool:
    """Whether the device still computes."""
    try:  # after an illegal access, CUDA fails every later call of the process
        return torch.ones(1, device=device).item() == 1
    except torch.AcceleratorError:
        return False
