"""Translate device failures of torch into errors of this project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from semblance.models.errors import DeviceLost, OutOfDeviceMemory
from semblance.models.networks.cuda_graphs import CAPTURE_LOCK

LIBRARY_OUT_OF_MEMORY = "ALLOC_FAILED"  # in messages of cuBLAS and its like, which torch raises as RuntimeError


@contextmanager
def device_errors(device: torch.device) -> Iterator[None]:
    """Context of work on a device; raises DeviceLost, OutOfDeviceMemory."""
    try:
        yield
    except torch.AcceleratorError as error:
        if _responds(device):  # only this work was rejected, such as a launch with an invalid configuration
            raise
        raise DeviceLost(f"{device}: {error}") from error
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and LIBRARY_OUT_OF_MEMORY not in str(error):
            raise
        with CAPTURE_LOCK:
            torch.cuda.empty_cache()  # so that a smaller batch can use the memory that this one leaves
        raise OutOfDeviceMemory(f"{device}: {error}") from error


def _responds(device: torch.device) -> bool:
    """Whether the device still computes."""
    try:  # after an illegal access, CUDA fails every later call of the process
        return torch.ones(1, device=device).item() == 1
    except torch.AcceleratorError:
        return False
