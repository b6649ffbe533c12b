"""Passes whose launches are recorded once and then started as a whole (CUDA graphs)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from semblance.models.networks.shape_buckets import rounded_up

MOST_TOKENS = 16_384  # more at once is no faster for the device, which has its fill of them
LEAST_TOKENS = 128
LEAST_LONGEST = 128  # rows that a block of flash attention works on: shorter texts take no less
TOKENS_A_TEXT = 8  # room for as many texts is left, unless they are shorter on average

# torch captures one graph at a time in a process, and none while a cache is emptied
CAPTURING = threading.Lock()


class Room(NamedTuple):
    """What fits into a pass: as many tokens, of as many texts, of which the longest has as many."""

    tokens: int
    texts: int
    longest: int

    @property
    def numbers(self) -> int:
        """The input of such a pass in 32-bit numbers: id, position and weight of each token, where each text begins."""
        return 3 * self.tokens + self.texts + 1


class Passed(NamedTuple):
    """What comes out of a pass: hidden states (tokens, d) and pooled vectors (texts, d), float32 on the device."""

    hidden: Tensor
    pooled: Tensor


Forward: TypeAlias = Callable[[Tensor, Room], Passed]


def room_for(tokens: int, texts: int, longest: int) -> Room:
    """The room of a pass: rounded up in steps of a quarter at most, so that few rooms serve all.

    >>> [tuple(room_for(*each)) for each in ((100, 7, 30), (1100, 60, 200), (2000, 900, 80))]
    [(128, 16, 128), (1280, 160, 256), (2048, 2048, 128)]
    """
    whole = rounded_up(max(tokens, LEAST_TOKENS))
    few = whole // TOKENS_A_TEXT
    return Room(whole, few if texts <= few else whole, _power_of_two(max(longest, LEAST_LONGEST)))


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


@dataclass(frozen=True, slots=True, eq=False)
class _Captured:
    inputs: Tensor
    graph: torch.cuda.CUDAGraph
    results: Passed


class CapturedPasses:
    """Runs passes by replaying them; the first one of each room is captured, which takes as long as some passes.

    All of them share their working memory and the place of their results, so what one returns holds until the next
    begins. One thread at a time; several of these may have one each.

    Args:
        forward: a pass over inputs that lie on the device; it must not wait for the device.
        device: of CUDA.
    """

    def __init__(self, forward: Forward, device: torch.device) -> None:
        self._forward = forward
        self._device = device
        self._memory = torch.cuda.graph_pool_handle()
        self._captured: dict[Room, _Captured] = {}
        self._space = torch.empty(2, 0, 0, device=device)

    def __call__(self, inputs: Tensor, room: Room) -> Passed:
        """The pass over (room.numbers,) int32 `inputs` of the host."""
        if room not in self._captured:
            self._captured[room] = self._capture(inputs, room)
        captured = self._captured[room]
        captured.inputs.copy_(inputs, non_blocking=True)
        captured.graph.replay()
        return captured.results

    def _capture(self, inputs: Tensor, room: Room) -> _Captured:
        # a capture that fails leaves its own stream behind as the current one: the outer block takes that back
        with CAPTURING, torch.cuda.device(self._device), torch.cuda.stream(torch.cuda.current_stream()):
            held, graph = inputs.to(self._device), torch.cuda.CUDAGraph()
            here, aside = torch.cuda.current_stream(), torch.cuda.Stream()  # type: ignore[no-untyped-call]
            aside.wait_stream(here)
            with torch.cuda.stream(aside):  # libraries choose and allot on first use, which must not be captured
                dim = self._forward(held, room).pooled.shape[1]
            here.wait_stream(aside)
            results = self._results(room, dim)
            # other threads may go on using the device meanwhile
            with torch.cuda.graph(graph, pool=self._memory, capture_error_mode="thread_local"):
                passed = self._forward(held, room)
                results.hidden.copy_(passed.hidden)  # what stayed where it is would keep that memory from other graphs
                results.pooled.copy_(passed.pooled)
        return _Captured(held, graph, results)

    def _results(self, room: Room, dim: int) -> Passed:
        """Where the results of a pass go: one place for all of them, but a larger one for one long text."""
        if self._space.shape[1] < room.tokens:
            self._space = torch.empty(2, max(room.tokens, MOST_TOKENS), dim, device=self._device)
        hidden, pooled = self._space
        return Passed(hidden[: room.tokens], pooled[: room.texts])
