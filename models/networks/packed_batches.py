"""Padding-free batches of a torch network, the fastest form on GPUs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn, segment_reduce

from semblance.models.alignment.ragged import split_by_size
from semblance.models.embeddings import Floats, Precision, Want
from semblance.models.errors import DeviceLost, NotExportable, OutOfDeviceMemory
from semblance.models.networks.agreement import least_cosine
from semblance.models.networks.cuda_graphs import (
    MAX_TOKENS,
    BatchShape,
    CudaGraphs,
    DeviceOutput,
    Forward,
    shape_bucket,
)
from semblance.models.networks.device_errors import device_errors
from semblance.models.networks.packed_attention import TextSpans, use_packed_attention
from semblance.models.networks.torch_network import first_position
from semblance.models.runtime import BatchOutput
from semblance.models.text import Ints

log = logging.getLogger(__name__)

PROBE_LENGTHS = (5, 1, 40, 12, 120)
MIN_COSINE = 0.99999  # in float32, of packed token vectors to those of the text alone


class PackedBatches:
    """Run the texts of a batch as one sequence without padding.

    Made for GPUs, with the same result on any device. The tokens of b texts follow one another, each with its position
    in its own text, and attention stays within each text (`semblance.models.networks.packed_attention`). Pooling runs
    on the device, in float32::

        sum_i w_i H_i / sum_i w_i,  or  max_i H_ij in each dimension j, over tokens of w_i > 0

    In bfloat16 the weights of affine maps are converted, and these maps and attention compute in it; embeddings,
    residual sums and norms stay float32, so that a text alone and in a batch stay close (docs/decisions/0005).

    On CUDA in bfloat16, a batch is padded with tokens of no text to one of few shapes, for each of which a CUDA graph
    is captured once. Inputs and results are copied through pinned memory; if the texts of a call make several batches,
    the host prepares the next one while the device computes.

    It changes the network, which cannot be called directly afterwards.

    Args:
        network: a network of transformers in float32, on any device.
        head: applied to each hidden state.
        device: "cpu" or a CUDA device of torch.
        precision: number type of the computation.
        largest: whether the vector of a text has the largest numbers of its tokens; otherwise it is their mean.

    Raises:
        NotExportable: packed texts have other vectors than each text alone, or the device has no packed attention in
            this number type; the network is left unchanged.
        DeviceLost: the device failed permanently.
    """

    def __init__(
        self,
        network: Any,
        head: nn.Module,
        device: str = "cpu",
        precision: Precision = "float32",
        *,
        largest: bool = False,
    ) -> None:
        self._device = torch.device(device)
        self._network = network.eval().to(self._device)
        self._head = head.eval().to(self._device)
        self._largest = largest
        self._first_position = first_position(network)
        self._autocast = False
        self._replay: Forward | None = None
        self._pack(precision)
        if precision == "bfloat16":
            self._convert_linear_layers()
            if self._device.type == "cuda":
                self._replay = self._cuda_graphs()

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> BatchOutput:
        """Encode b texts, in several batches above `MAX_TOKENS` tokens; see `Runtime`.

        Raises:
            DeviceLost: the device failed permanently.
        """
        with device_errors(self._device):
            batches = [
                self._start(ids[part], weights[part], want)
                for part in split_by_size([len(each) for each in ids], MAX_TOKENS)
            ]
            if self._device.type == "cuda":
                torch.cuda.current_stream(self._device).synchronize()
        return BatchOutput(
            pooled=np.concatenate([batch.pooled[: len(batch.lengths)].numpy() for batch in batches]),
            vectors=[token_vector for batch in batches for token_vector in batch.token_vectors()],
        )

    def _start(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> _PendingBatch:
        """Start a batch and the copy of its results to the host, without waiting for either."""
        lengths = [len(each) for each in ids]
        exact = BatchShape(sum(lengths), len(lengths), max(lengths))
        shape = exact if self._replay is None else shape_bucket(*exact)
        inputs = torch.zeros(shape.input_size, dtype=torch.int32, pin_memory=self._device.type == "cuda")
        _write_inputs(inputs.numpy(), shape, ids, weights, self._first_position)
        if self._replay is not None:
            output = self._replay(inputs, shape)
        else:
            output = self._forward(inputs.to(self._device, non_blocking=True), shape)
        hidden = self._to_host(output.hidden) if want == "tokens" else None
        return _PendingBatch(lengths, self._to_host(output.pooled), hidden)

    def _forward(self, inputs: Tensor, shape: BatchShape) -> DeviceOutput:
        """Forward pass over inputs on the device, in the layout of `_write_inputs`."""
        tokens, offsets = inputs[: 3 * shape.tokens].view(3, -1), inputs[3 * shape.tokens :]
        ids, positions, weights = tokens[0].long(), tokens[1].long(), tokens[2].view(torch.float32)
        # the weights are converted already, so there is nothing for autocast to cache
        autocast = torch.autocast(self._device.type, torch.bfloat16, enabled=self._autocast, cache_enabled=False)
        with torch.inference_mode(), autocast:
            spans = TextSpans(offsets, shape.longest)
            out = self._network(input_ids=ids[None], position_ids=positions[None], packed=spans)
            hidden = self._head(out.last_hidden_state[0]).float()
            return DeviceOutput(hidden, pool(hidden, weights, offsets, largest=self._largest))

    def _pack(self, precision: Precision) -> None:
        """Switch to packed attention, if it changes no vector and runs in this number type."""
        original = self._network.config._attn_implementation  # noqa: SLF001 - transformers has no public accessor
        probes = _probe_ids(self._network.config)
        alone, ones = [self._encode_one(probe) for probe in probes], [np.ones(len(each), np.float32) for each in probes]
        use_packed_attention(self._network)
        try:
            # compared in float32, because rounding in bfloat16 would hide small influences of other texts
            packed = self.run(probes, ones, "tokens").vectors
            if precision == "bfloat16":
                # only run here: the kernel supports neither every GPU nor every head size, and failing now lets the
                # caller choose another runtime; `Transformer` checks the vectors once the weights are converted
                self._autocast = True
                self.run(probes, ones, "tokens")
        except (DeviceLost, OutOfDeviceMemory):  # say nothing about the network, and memory may be free later
            raise
        except Exception as error:  # networks without this interface fail in many ways, by type errors among them
            self._network.set_attn_implementation(original)
            raise NotExportable(f"{type(self._network).__name__} cannot attend to packed texts: {error}") from error
        # a network may use this attention and still relate texts elsewhere, by a bias on distances for example
        cosine = least_cosine(zip(alone, packed, strict=True))
        if not cosine >= MIN_COSINE:  # also if it is NaN
            self._network.set_attn_implementation(original)
            raise NotExportable(
                f"packed texts have cosine {cosine:.5f} to each alone in {type(self._network).__name__}, below the "
                f"limit of {MIN_COSINE}: it relates tokens outside its attention function"
            )

    def _encode_one(self, ids: Ints) -> Floats:
        """(n, d) token vectors of one text by the original attention of the network."""
        with torch.inference_mode():
            hidden = self._network(input_ids=torch.from_numpy(ids).long()[None].to(self._device)).last_hidden_state
            vectors: Floats = self._head(hidden[0]).float().cpu().numpy()
        return vectors

    def _convert_linear_layers(self) -> None:
        """Convert the weights of affine maps to bfloat16; autocast converts their inputs."""
        for module in (*self._network.modules(), *self._head.modules()):
            if isinstance(module, nn.Linear):
                module.to(torch.bfloat16)

    def _cuda_graphs(self) -> CudaGraphs | None:
        """CUDA graphs of the forward pass; None if this network cannot be captured."""
        graphs, shape = CudaGraphs(self._forward, self._device), shape_bucket(2, 1, 2)
        inputs = torch.zeros(shape.input_size, dtype=torch.int32, pin_memory=True)
        _write_inputs(inputs.numpy(), shape, [np.ones(2, np.int32)], [np.ones(2, np.float32)], self._first_position)
        try:
            with device_errors(self._device):
                graphs(inputs, shape)
        except RuntimeError as error:
            log.warning("%s runs without CUDA graphs: %s", type(self._network).__name__, error)
            return None
        return graphs

    def _to_host(self, result: Tensor) -> Tensor:
        """Start a copy to host memory, which is complete once the stream is synchronized."""
        if self._device.type != "cuda":
            return result
        return torch.empty(result.shape, dtype=result.dtype, pin_memory=True).copy_(result, non_blocking=True)


@dataclass(frozen=True, slots=True, eq=False)
class _PendingBatch:
    """A batch under way, with the host memory of its results."""

    lengths: Sequence[int]
    pooled: Tensor
    hidden: Tensor | None

    def token_vectors(self) -> list[Floats]:
        """(n_i, d) token vectors of each text, each with its own memory; empty if not requested."""
        if self.hidden is None:
            return []
        vectors, ends = self.hidden.numpy(), list(accumulate(self.lengths))
        return [vectors[end - n : end].copy() for n, end in zip(self.lengths, ends, strict=True)]


def pool(hidden: Tensor, weights: Tensor, offsets: Tensor, *, largest: bool) -> Tensor:
    """(T, d) -> (b, d): the vector of each text, in the type of `hidden`; bitwise deterministic.

    >>> rows, weights, offsets = torch.tensor([[1.0], [3.0], [5.0], [9.0]]), torch.ones(4), torch.tensor([0, 2, 3])
    >>> [pool(rows, weights, offsets, largest=largest).flatten().tolist() for largest in (False, True)]
    [[2.0, 5.0], [3.0, 5.0]]
    """
    weights = weights[:, None]
    if largest:
        counted = hidden.masked_fill(weights == 0, -torch.inf)
        return segment_reduce(counted, "max", offsets=offsets, axis=0, unsafe=True)
    total = segment_reduce(hidden * weights, "sum", offsets=offsets, axis=0, unsafe=True)
    return total / segment_reduce(weights, "sum", offsets=offsets, axis=0, unsafe=True).clamp(min=1e-9)


def _write_inputs(
    numbers: Ints, shape: BatchShape, ids: Sequence[Ints], weights: Sequence[Floats], first_position: int
) -> None:
    """Write the input of a batch into zeroed `numbers`, which one copy brings to the device."""
    lengths = np.array([len(each) for each in ids])
    ends = np.cumsum(lengths)
    rows, count = numbers[: 3 * shape.tokens].reshape(3, -1), ends[-1]
    rows[0, :count] = np.concatenate(ids)
    rows[1] = first_position
    rows[1, :count] += np.arange(count) - np.repeat(ends - lengths, lengths)
    rows[2, :count] = np.concatenate(weights).view(np.int32)
    offsets = numbers[3 * shape.tokens :]
    offsets[1 : len(ids) + 1] = ends
    offsets[len(ids) + 1 :] = count


def _probe_ids(config: Any) -> list[Ints]:
    """Texts of random token ids; not the padding id, which may have no position."""
    known = np.setdiff1d(np.arange(config.vocab_size, dtype=np.int32), [config.pad_token_id or 0])
    most = getattr(config, "max_position_embeddings", max(PROBE_LENGTHS)) - (config.pad_token_id or 0) - 1
    rng = np.random.default_rng(0)
    return [rng.choice(known, min(n, most)) for n in PROBE_LENGTHS]
