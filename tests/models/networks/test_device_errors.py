"""What a failure of a device is taken for."""

from __future__ import annotations

import pytest
import torch

from semblance.models.errors import DeviceLost
from semblance.models.networks.cuda_graphs import CAPTURING
from semblance.models.networks.device_errors import device_errors

CPU = torch.device("cpu")


def test_a_device_that_answers_no_more_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    monkeypatch.setattr(torch, "ones", fail)  # as any work would
    with pytest.raises(DeviceLost, match="cpu: an illegal memory access"), device_errors(CPU):
        fail()


def test_one_that_refused_some_work_and_still_answers_is_not() -> None:
    with pytest.raises(torch.AcceleratorError, match="invalid configuration"), device_errors(CPU):
        raise torch.AcceleratorError("invalid configuration argument")


def test_memory_is_given_back_after_a_lack_of_it_but_not_while_a_graph_is_captured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: waited.append(CAPTURING.locked()))
    with pytest.raises(torch.OutOfMemoryError), device_errors(CPU):
        raise torch.OutOfMemoryError("no room")
    assert waited == [True]
    assert not CAPTURING.locked()
