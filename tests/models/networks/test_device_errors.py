"""Translation of device failures of torch."""

from __future__ import annotations

import pytest
import torch

from semblance.models.errors import DeviceLost
from semblance.models.networks.cuda_graphs import CAPTURE_LOCK
from semblance.models.networks.device_errors import device_errors

CPU = torch.device("cpu")


def test_a_device_that_no_longer_responds_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    monkeypatch.setattr(torch, "ones", fail)  # as any work would
    with pytest.raises(DeviceLost, match="cpu: an illegal memory access"), device_errors(CPU):
        fail()


def test_a_device_that_rejects_work_is_not_lost() -> None:
    with pytest.raises(torch.AcceleratorError, match="invalid configuration"), device_errors(CPU):
        raise torch.AcceleratorError("invalid configuration argument")


def test_out_of_memory_empties_the_cache_outside_of_captures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    locked: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: locked.append(CAPTURE_LOCK.locked()))
    with pytest.raises(torch.OutOfMemoryError), device_errors(CPU):
        raise torch.OutOfMemoryError("no room")
    assert locked == [True]
    assert not CAPTURE_LOCK.locked()
