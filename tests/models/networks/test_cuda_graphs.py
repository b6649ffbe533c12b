"""Passes that are captured and replayed, on a stand-in for CUDA: each operation is written down, and done again.

As in a pool that graphs share, nothing that a graph makes survives its end, but for what it copies elsewhere.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from semblance.models.networks import cuda_graphs
from semblance.models.networks.cuda_graphs import CAPTURING, CapturedPasses, Passed, Room, room_for
from semblance.models.networks.packed_batches import _lay_out, pool
from semblance.models.text import Ints

CPU = torch.device("cpu")
TABLE = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))


class Tape(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What stands for a graph."""

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
            given = {each.untyped_storage().data_ptr() for each in tensors((args, kwargs))}
            for each in tensors(out):
                if each.is_floating_point() and each.untyped_storage().data_ptr() not in given:
                    each.fill_(torch.nan)


def tensors(found: Any) -> list[Tensor]:
    return [each for each in tree_leaves(found) if isinstance(each, Tensor)]


class Stream:
    """Of work, all of which is done at once here."""

    def wait_stream(self, other: Stream) -> None:
        """So there is nothing to wait for."""


class Cuda:
    """Streams and captures as torch has them: a capture that fails does not go back to the stream before it."""

    def __init__(self) -> None:
        self.state = threading.local()
        self.under_way = self.most_under_way = 0

    def current(self) -> Stream:
        if not hasattr(self.state, "stream"):
            self.state.stream = Stream()
        return self.state.stream  # type: ignore[no-any-return]

    @contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        before = self.current()
        self.state.stream = stream
        try:
            yield
        finally:
            self.state.stream = before

    @contextmanager
    def graph(self, tape: Tape, **_: Any) -> Iterator[None]:
        before = self.current()
        self.state.stream = Stream()
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            with tape:
                yield
        finally:
            self.under_way -= 1
        self.state.stream = before
        with torch.inference_mode():
            tape.spoil()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    cuda = Cuda()
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", cuda.current)
    monkeypatch.setattr(torch.cuda, "stream", cuda.stream)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Tape)
    monkeypatch.setattr(torch.cuda, "graph", cuda.graph)
    return cuda


def forward(inputs: Tensor, room: Room) -> Passed:
    """A network that looks at nothing but the id."""
    with torch.inference_mode():
        tokens, offsets = inputs[: 3 * room.tokens].view(3, -1), inputs[3 * room.tokens :]
        hidden = TABLE[tokens[0].long()] * 2
        return Passed(hidden, pool(hidden, tokens[2].view(torch.float32), offsets, "mean"))


def laid(lengths: tuple[int, ...]) -> tuple[Tensor, Room, list[Ints]]:
    rng = np.random.default_rng(sum(lengths))
    ids = [rng.integers(0, 50, n).astype(np.int32) for n in lengths]
    room = room_for(sum(lengths), len(lengths), max(lengths))
    inputs = torch.zeros(room.numbers, dtype=torch.int32)
    _lay_out(inputs.numpy(), room, ids, [np.ones(n, np.float32) for n in lengths], 0)
    return inputs, room, ids


def check(passes: CapturedPasses, lengths: tuple[int, ...]) -> Passed:
    inputs, room, ids = laid(lengths)
    found = passes(inputs, room)
    assert torch.equal(found.hidden[: sum(lengths)], TABLE[np.concatenate(ids)] * 2)
    oracle = torch.stack([(TABLE[each] * 2).mean(dim=0) for each in ids])
    assert torch.allclose(found.pooled[: len(ids)], oracle, atol=1e-6)
    return found


@pytest.mark.usefixtures("cuda")
def test_rooms_in_turn_and_back_each_give_their_own_results_in_one_place() -> None:
    passes = CapturedPasses(forward, CPU)
    found = [check(passes, lengths) for lengths in ((5, 3), (200, 90, 7), (9, 1), (200, 90), (4,))]
    assert len(passes._captured) == 2
    assert len({each.hidden.data_ptr() for each in found}) == len({each.pooled.data_ptr() for each in found}) == 1


@pytest.mark.usefixtures("cuda")
def test_one_text_longer_than_any_other_pass_finds_place_and_takes_none_from_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_graphs, "MOST_TOKENS", 256)
    passes = CapturedPasses(forward, CPU)
    for lengths in ((5, 3), (1000,), (9, 1), (800,), (250,)):
        check(passes, lengths)


def test_a_capture_that_fails_leaves_neither_its_stream_nor_its_lock_behind(cuda: Cuda) -> None:
    def uncapturable(inputs: Tensor, room: Room) -> Passed:
        if cuda.under_way:
            raise RuntimeError("operation not permitted when stream is capturing")
        return forward(inputs, room)

    before, (inputs, room, _) = cuda.current(), laid((3,))
    with pytest.raises(RuntimeError, match="not permitted"):
        CapturedPasses(uncapturable, CPU)(inputs, room)
    assert cuda.current() is before
    assert not CAPTURING.locked()


def test_threads_capture_one_after_another(cuda: Cuda) -> None:
    def slow(inputs: Tensor, room: Room) -> Passed:
        time.sleep(0.05)
        return forward(inputs, room)

    inputs, room, _ = laid((3, 4))
    threads = [threading.Thread(target=CapturedPasses(slow, CPU), args=(inputs, room)) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert cuda.most_under_way == 1
