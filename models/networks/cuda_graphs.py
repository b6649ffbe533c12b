"""Replay forward passes as CUDA graphs, which record the kernel launches of a batch shape."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from semblance.models.networks.shape_buckets import round_up

MAX_TOKENS = 16_384  # of a batch; more are no faster, since these saturate the device
MIN_TOKENS = 128
MIN_LONGEST = 128  # rows in a block of flash attention: shorter texts take as long
TOKENS_PER_TEXT = 8  # a bucket of T tokens has room for T / 8 texts, or for T if texts are shorter on average

# torch captures one graph at a time in a process, and none while a cache is emptied
CAPTURE_LOCK = threading.Lock()


class BatchShape(NamedTuple):
    """Size of a packed batch: its tokens, its texts, and the tokens of the longest text."""

    tokens: int
    texts: int
    longest: int

    @property
    def input_size(self) -> int:
        """32-bit numbers of the input: id, position and weight per token, and offsets of texts."""
        return 3 * self.tokens + self.texts + 1


class DeviceOutput(NamedTuple):
    """Hidden states (tokens, d) and pooled vectors (texts, d) of a batch, float32 on the device."""

    hidden: Tensor
    pooled: Tensor


Forward: TypeAlias = Callable[[Tensor, BatchShape], DeviceOutput]


def shape_bucket(tokens: int, texts: int, longest: int) -> BatchShape:
    """Round a batch shape up, so that few graphs serve all batches; tokens by a quarter at most.

    >>> [tuple(shape_bucket(*each)) for each in ((100, 7, 30), (1100, 60, 200), (2000, 900, 80))]
    [(128, 16, 128), (1280, 160, 256), (2048, 2048, 128)]
    """
    rounded = round_up(max(tokens, MIN_TOKENS))
    usual = rounded // TOKENS_PER_TEXT
    power_of_two = 1 << (max(longest, MIN_LONGEST) - 1).bit_length()
    return BatchShape(rounded, usual if texts <= usual else rounded, power_of_two)


@dataclass(frozen=True, slots=True, eq=False)
class _CapturedGraph:
    inputs: Tensor
    graph: torch.cuda.CUDAGraph
    output: DeviceOutput


class CudaGraphs:
    """Run forward passes by replaying graphs, captured at the first batch of each shape.

    A capture takes as long as a few forward passes. All graphs share working memory and output buffers, so the output
    of a call is valid until the next call. Calls come from one thread at a time; several instances may each have their
    own thread.

    Args:
        forward: the forward pass over inputs on the device; it must not synchronize with the device.
        device: a CUDA device.
    """

    def __init__(self, forward: Forward, device: torch.device) -> None:
        self._forward = forward
        self._device = device
        self._memory_pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[BatchShape, _CapturedGraph] = {}
        self._buffers = torch.empty(2, 0, 0, device=device)

    def __call__(self, inputs: Tensor, shape: BatchShape) -> DeviceOutput:
        """The forward pass over (shape.input_size,) int32 `inputs` in host memory."""
        if shape not in self._graphs:
            self._graphs[shape] = self._capture(inputs, shape)
        captured = self._graphs[shape]
        captured.inputs.copy_(inputs, non_blocking=True)
        captured.graph.replay()
        return captured.output

    def _capture(self, inputs: Tensor, shape: BatchShape) -> _CapturedGraph:
        # after a failed capture, torch leaves the stream of the capture as the current one: the outer block restores it
        with CAPTURE_LOCK, torch.cuda.device(self._device), torch.cuda.stream(torch.cuda.current_stream()):
            # a replay reads the addresses that were captured, so each call copies its inputs into this tensor
            static_inputs, graph = inputs.to(self._device), torch.cuda.CUDAGraph()
            current, side = torch.cuda.current_stream(), torch.cuda.Stream()  # type: ignore[no-untyped-call]
            side.wait_stream(current)
            # a warm-up outside the graph: on first use, libraries choose algorithms and allocate workspaces, and
            # neither may be captured
            with torch.cuda.stream(side):
                dim = self._forward(static_inputs, shape).pooled.shape[1]
            current.wait_stream(side)
            buffers = self._output_buffers(shape, dim)
            # thread_local: other threads, such as one that searches an index, may use the device during the capture
            with torch.cuda.graph(graph, pool=self._memory_pool, capture_error_mode="thread_local"):
                output = self._forward(static_inputs, shape)
                # copied out, because a result that stays in the pool would withhold its memory from other graphs
                buffers.hidden.copy_(output.hidden)
                buffers.pooled.copy_(output.pooled)
        return _CapturedGraph(static_inputs, graph, buffers)

    def _output_buffers(self, shape: BatchShape, dim: int) -> DeviceOutput:
        """Views of the shared buffers, which only a text above `MAX_TOKENS` tokens replaces."""
        if self._buffers.shape[1] < shape.tokens:
            self._buffers = torch.empty(2, max(shape.tokens, MAX_TOKENS), dim, device=self._device)
        hidden, pooled = self._buffers
        return DeviceOutput(hidden[: shape.tokens], pooled[: shape.texts])
