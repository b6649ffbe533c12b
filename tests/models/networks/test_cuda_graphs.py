"""Work on a device: failures of torch, and capture and replay on a stand-in for CUDA.

The stand-in records each operation and repeats it. As in a memory pool that graphs share, all results of a graph are
lost at its end, except for copies elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from semblance.models.errors import DeviceLost, OutOfDeviceMemory
from semblance.models.networks import cuda_graphs
from semblance.models.networks.cuda_graphs import CAPTURE_LOCK, BatchShape, CudaGraphs, DeviceOutput, shape_bucket
from semblance.models.networks.device_errors import device_errors
from semblance.models.networks.packed_batches import _write_inputs, pool
from semblance.models.text import Ints

CPU = torch.device("cpu")
TABLE = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))


class Tape(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Stand-in for a graph."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.steps.append((func, args, kwargs or {}, out))
        return out

    def replay(self) -> None:
        with torch.inference_mode():
            for func, args, kwargs, out in self.steps:
                for old, new in zip(tensors(out), tensors(func(*args, **kwargs)), strict=True):
                    old.copy_(new)
            self.spoil()

    def spoil(self) -> None:
        for _, args, kwargs, out in self.steps:
            inputs = {each.untyped_storage().data_ptr() for each in tensors((args, kwargs))}
            for each in tensors(out):
                if each.is_floating_point() and each.untyped_storage().data_ptr() not in inputs:
                    each.fill_(torch.nan)


def tensors(tree: Any) -> list[Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, Tensor)]


class Cuda:
    """Streams and captures as in torch, done at once: a failed capture does not restore the previous stream."""

    def __init__(self) -> None:
        self.now: object = Mock()
        self.under_way = False

    @contextmanager
    def stream(self, stream: object) -> Iterator[None]:
        before, self.now = self.now, stream
        try:
            yield
        finally:
            self.now = before

    @contextmanager
    def graph(self, tape: Tape, **_: Any) -> Iterator[None]:
        before, self.now, self.under_way = self.now, Mock(), True
        try:
            with tape:
                yield
        finally:
            self.under_way = False
        self.now = before
        with torch.inference_mode():
            tape.spoil()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    cuda = Cuda()
    for name, stand_in in (
        ("graph_pool_handle", lambda: None),
        ("device", lambda _: nullcontext()),
        ("Stream", Mock),
        ("current_stream", lambda: cuda.now),
        ("stream", cuda.stream),
        ("CUDAGraph", Tape),
        ("graph", cuda.graph),
    ):
        monkeypatch.setattr(torch.cuda, name, stand_in)
    return cuda


def forward(inputs: Tensor, shape: BatchShape) -> DeviceOutput:
    """A network whose vectors depend on the token id only."""
    with torch.inference_mode():
        tokens, offsets = inputs[: 3 * shape.tokens].view(3, -1), inputs[3 * shape.tokens :]
        hidden = TABLE[tokens[0].long()] * 2
        return DeviceOutput(hidden, pool(hidden, tokens[2].view(torch.float32), offsets, largest=False))


def inputs_of(lengths: tuple[int, ...]) -> tuple[Tensor, BatchShape, list[Ints]]:
    rng = np.random.default_rng(sum(lengths))
    ids = [rng.integers(0, 50, n).astype(np.int32) for n in lengths]
    shape = shape_bucket(sum(lengths), len(lengths), max(lengths))
    inputs = torch.zeros(shape.input_size, dtype=torch.int32)
    _write_inputs(inputs.numpy(), shape, ids, [np.ones(n, np.float32) for n in lengths], 0)
    return inputs, shape, ids


def check(graphs: CudaGraphs, lengths: tuple[int, ...]) -> DeviceOutput:
    inputs, shape, ids = inputs_of(lengths)
    output = graphs(inputs, shape)
    assert torch.equal(output.hidden[: sum(lengths)], TABLE[np.concatenate(ids)] * 2)
    oracle = torch.stack([(TABLE[each] * 2).mean(dim=0) for each in ids])
    assert torch.allclose(output.pooled[: len(ids)], oracle, atol=1e-6)
    return output


@pytest.mark.usefixtures("cuda")
def test_alternating_shapes_share_output_buffers_without_mixing_results() -> None:
    graphs = CudaGraphs(forward, CPU)
    output = [check(graphs, lengths) for lengths in ((5, 3), (200, 90, 7), (9, 1), (200, 90), (4,))]
    assert len(graphs._graphs) == 2
    assert len({each.hidden.data_ptr() for each in output}) == len({each.pooled.data_ptr() for each in output}) == 1


@pytest.mark.usefixtures("cuda")
def test_a_text_above_the_token_limit_gets_larger_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graphs, "MAX_TOKENS", 256)
    graphs = CudaGraphs(forward, CPU)
    for lengths in ((5, 3), (1000,), (9, 1), (800,), (250,)):
        check(graphs, lengths)


def test_a_failed_capture_restores_the_stream_and_releases_the_lock(cuda: Cuda) -> None:
    def uncapturable(inputs: Tensor, shape: BatchShape) -> DeviceOutput:
        if cuda.under_way:
            raise RuntimeError("operation not permitted when stream is capturing")
        return forward(inputs, shape)

    before, (inputs, shape, _) = cuda.now, inputs_of((3,))
    with pytest.raises(RuntimeError, match="not permitted"):
        CudaGraphs(uncapturable, CPU)(inputs, shape)
    assert cuda.now is before
    assert not CAPTURE_LOCK.locked()


def test_warm_up_and_capture_hold_the_lock_of_the_process(cuda: Cuda) -> None:
    passes: list[tuple[bool, bool]] = []

    def recorded(inputs: Tensor, shape: BatchShape) -> DeviceOutput:
        passes.append((cuda.under_way, CAPTURE_LOCK.locked()))
        return forward(inputs, shape)

    graphs = CudaGraphs(recorded, CPU)
    check(graphs, (3, 4))
    assert not CAPTURE_LOCK.locked()
    check(graphs, (4, 3))
    assert passes == [(False, True), (True, True)]


def test_a_device_that_no_longer_responds_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    monkeypatch.setattr(torch, "ones", fail)  # as any work would
    with pytest.raises(DeviceLost, match="cpu: an illegal memory access"), device_errors(CPU):
        fail()


def test_a_device_that_rejects_work_is_not_lost() -> None:
    with pytest.raises(torch.AcceleratorError, match="invalid configuration"), device_errors(CPU):
        raise torch.AcceleratorError("invalid configuration argument")


@pytest.mark.parametrize(
    "fault",
    [
        torch.OutOfMemoryError("no room"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
    ],
)
def test_out_of_memory_empties_the_cache_outside_of_captures(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    locked: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: locked.append(CAPTURE_LOCK.locked()))
    with pytest.raises(OutOfDeviceMemory), device_errors(CPU):
        raise fault
    assert locked == [True]
    assert not CAPTURE_LOCK.locked()
