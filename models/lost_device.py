"""What torch raises when a device fails, as the words of this project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from models.errors import DeviceLost


@contextmanager
def device_errors(device: torch.device) -> Iterator[None]:
    """Around work on a device: raises DeviceLost where it failed for good."""
    try:
        yield
    except torch.AcceleratorError as error:  # CUDA answers every later call of this process with the same error
        raise DeviceLost(f"{device}: {error}") from error
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()  # so that a smaller batch finds the room that this one leaves
        raise
