"""Passes of a network of torch without padding, as GPUs want them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn, segment_reduce

from semblance.models.embeddings import Floats, Want
from semblance.models.errors import DeviceLost, NotExportable
from semblance.models.measures.chunks import portions
from semblance.models.networks.agreement import least_cosine
from semblance.models.networks.cuda_graphs import MOST_TOKENS, CapturedPasses, Forward, Passed, Room, room_for
from semblance.models.networks.device_errors import device_errors
from semblance.models.networks.packed_attention import Spans, use_packed_attention
from semblance.models.networks.torch_network import first_position
from semblance.models.runtime import Encoded, Pooling, Precision
from semblance.models.text import Ints

log = logging.getLogger(__name__)

PROBE_LENGTHS = (5, 1, 40, 12, 120)
AGREEMENT = 0.99999  # least cosine, in float32, of packed token vectors to those of the text alone


class PackedPasses:
    """Runs the texts of a pass as one sequence without padding: made for GPUs, and the same on any device.

    All tokens of b texts stand one after another, each with its position in its own text, and attention is kept to the
    text (`semblance.models.networks.packed_attention`). Pooling happens on the device, in float32::

        mean: sum_i w_i H_i / sum_i w_i      cls: H_1      max: max_i H_ij in each dimension j

    In bfloat16 the weights of affine maps are converted, and these maps and attention compute in it; embeddings,
    residual sums and norms stay float32, so that a text alone and in a batch stay close (docs/decisions/0005).

    On CUDA in bfloat16, a pass is filled up by tokens of no text to one of few sizes, each of which is captured once as
    a graph. Inputs go over and results come back through pinned memory; where the texts of a run make several passes,
    the host prepares the next one meanwhile.

    It takes the network over: nothing else can call it any more.

    Args:
        network: of transformers, in float32; its weights may lie anywhere.
        head: what is made of each hidden state, such as an affine map or `torch.nn.Identity`.
        pooling: how the vectors of a text's tokens become one.
        device: "cpu" or a CUDA device of torch.
        precision: what it computes in.

    Raises:
        NotExportable: packed texts have other vectors than each text alone, or there is no attention to them in that
            number type on that device; the network is as it was before.
        DeviceLost: the device failed for good.
    """

    def __init__(
        self, network: Any, head: nn.Module, pooling: Pooling, device: str = "cpu", precision: Precision = "float32"
    ) -> None:
        self._device = torch.device(device)
        self._network = network.eval().to(self._device)
        self._head = head.eval().to(self._device)
        self._pooling: Pooling = pooling
        self._first_position = first_position(network)
        self._reduced = False
        self._replay: Forward | None = None
        self._pack(precision)
        if precision == "bfloat16":
            self._reduce()
            if self._device.type == "cuda":
                self._replay = self._captured()

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
        """One pass of b texts, or several where they have more than `MOST_TOKENS` tokens; see `Runtime`.

        Raises:
            DeviceLost: the device failed for good.
        """
        with device_errors(self._device):
            flights = [
                self._launch(ids[part], weights[part], want)
                for part in portions([len(each) for each in ids], MOST_TOKENS)
            ]
            if self._device.type == "cuda":
                torch.cuda.current_stream(self._device).synchronize()
        return Encoded(
            pooled=np.concatenate([flight.pooled[: flight.texts].numpy() for flight in flights]),
            vectors=[each for flight in flights for each in flight.landed()],
        )

    def _launch(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> _Flight:
        """Start a pass, and the way of its results to the host; neither is waited for."""
        lengths = [len(each) for each in ids]
        exact = Room(sum(lengths), len(lengths), max(lengths))
        room = exact if self._replay is None else room_for(*exact)
        inputs = torch.zeros(room.numbers, dtype=torch.int32, pin_memory=self._device.type == "cuda")
        _lay_out(inputs.numpy(), room, ids, weights, self._first_position)
        if self._replay is not None:
            passed = self._replay(inputs, room)
        else:
            passed = self._forward(inputs.to(self._device, non_blocking=True), room)
        return _Flight(lengths, self._host(passed.pooled), self._host(passed.hidden) if want == "tokens" else None)

    def _forward(self, inputs: Tensor, room: Room) -> Passed:
        """A pass over inputs on the device, as `_lay_out` made them."""
        tokens, offsets = inputs[: 3 * room.tokens].view(3, -1), inputs[3 * room.tokens :]
        ids, positions, weights = tokens[0].long(), tokens[1].long(), tokens[2].view(torch.float32)
        # the weights are converted already, so there is nothing that autocast could keep for later
        reduced = torch.autocast(self._device.type, torch.bfloat16, enabled=self._reduced, cache_enabled=False)
        with torch.inference_mode(), reduced:
            out = self._network(input_ids=ids[None], position_ids=positions[None], packed=Spans(offsets, room.longest))
            hidden = self._head(out.last_hidden_state[0]).float()
            return Passed(hidden, pool(hidden, weights, offsets, self._pooling))

    def _pack(self, precision: Precision) -> None:
        """Go over to packed attention, if that changes no vector, and works in this number type too."""
        own = self._network.config._attn_implementation  # noqa: SLF001 - there is no other way to ask
        probes = _probes(self._network.config)
        alone, ones = [self._alone(each) for each in probes], [np.ones(len(each), np.float32) for each in probes]
        try:
            use_packed_attention(self._network)
            together = self.run(probes, ones, "tokens").vectors
            if precision == "bfloat16":  # its kernel runs neither on every GPU nor for heads of every size
                self._reduced = True
                self.run(probes, ones, "tokens")
        except DeviceLost:
            raise
        except Exception as error:
            self._network.set_attn_implementation(own)
            raise NotExportable(f"{type(self._network).__name__} cannot attend to packed texts: {error}") from error
        least = least_cosine(zip(alone, together, strict=True))
        if not least >= AGREEMENT:
            self._network.set_attn_implementation(own)
            raise NotExportable(
                f"packed texts have cosine {least:.5f} to each alone in {type(self._network).__name__}: it looks "
                "beyond its attention function, such as to distances of tokens"
            )

    def _alone(self, ids: Ints) -> Floats:
        """(n, d) token vectors of one text by the network's own attention."""
        with torch.inference_mode():
            hidden = self._network(input_ids=torch.from_numpy(ids).long()[None].to(self._device)).last_hidden_state
            vectors: Floats = self._head(hidden[0]).float().cpu().numpy()
        return vectors

    def _reduce(self) -> None:
        """Convert the weights of affine maps; autocast brings what they are applied to to the same type."""
        for module in (*self._network.modules(), *self._head.modules()):
            if isinstance(module, nn.Linear):
                module.to(torch.bfloat16)

    def _captured(self) -> CapturedPasses | None:
        """Captured passes, if this network can be captured."""
        passes, room = CapturedPasses(self._forward, self._device), room_for(2, 1, 2)
        inputs = torch.zeros(room.numbers, dtype=torch.int32, pin_memory=True)
        _lay_out(inputs.numpy(), room, [np.ones(2, np.int32)], [np.ones(2, np.float32)], self._first_position)
        try:
            with device_errors(self._device):
                passes(inputs, room)
        except RuntimeError as error:
            log.warning("%s runs without CUDA graphs: %s", type(self._network).__name__, error)
            return None
        return passes

    def _host(self, result: Tensor) -> Tensor:
        """A copy in memory of the host, which is complete once the device has caught up."""
        if self._device.type != "cuda":
            return result
        return torch.empty(result.shape, dtype=result.dtype, pin_memory=True).copy_(result, non_blocking=True)


@dataclass(frozen=True, slots=True, eq=False)
class _Flight:
    """A pass that was started: what its results will be, on the host."""

    lengths: Sequence[int]
    pooled: Tensor
    hidden: Tensor | None

    @property
    def texts(self) -> int:
        return len(self.lengths)

    def landed(self) -> list[Floats]:
        """Token vectors of each text, in memory of their own; none if they were not wanted."""
        if self.hidden is None:
            return []
        vectors, ends = self.hidden.numpy(), list(accumulate(self.lengths))
        return [vectors[end - n : end].copy() for n, end in zip(self.lengths, ends, strict=True)]


def pool(hidden: Tensor, weights: Tensor, offsets: Tensor, pooling: Pooling) -> Tensor:
    """(T, d) -> (b, d): the vector of each text, in the type of `hidden`. The same bits every time.

    >>> rows, ones, offsets = torch.tensor([[1.0], [3.0], [5.0], [9.0]]), torch.ones(4), torch.tensor([0, 2, 3])
    >>> [pool(rows, ones, offsets, how).flatten().tolist() for how in ("mean", "cls", "max")]
    [[2.0, 5.0], [1.0, 5.0], [3.0, 5.0]]
    """
    weights = weights[:, None]
    match pooling:
        case "mean":
            total = segment_reduce(hidden * weights, "sum", offsets=offsets, axis=0, unsafe=True)
            return total / segment_reduce(weights, "sum", offsets=offsets, axis=0, unsafe=True).clamp(min=1e-9)
        case "cls":
            return hidden[offsets[:-1].clamp(max=len(hidden) - 1)]  # an empty text may begin behind the last row
        case "max":
            return segment_reduce(hidden, "max", offsets=offsets, axis=0, unsafe=True)


def _lay_out(numbers: Ints, room: Room, ids: Sequence[Ints], weights: Sequence[Floats], first_position: int) -> None:
    """Write the input of a pass into `numbers`, which are 0: one array, so that one copy brings it to the device."""
    lengths = np.array([len(each) for each in ids])
    ends = np.cumsum(lengths)
    rows, count = numbers[: 3 * room.tokens].reshape(3, -1), ends[-1]
    rows[0, :count] = np.concatenate(ids)
    rows[1] = first_position
    rows[1, :count] += np.arange(count) - np.repeat(ends - lengths, lengths)
    rows[2, :count] = np.concatenate(weights).view(np.int32)
    offsets = numbers[3 * room.tokens :]
    offsets[1 : len(ids) + 1] = ends
    offsets[len(ids) + 1 :] = count


def _probes(config: Any) -> list[Ints]:
    """Texts of ids drawn from the whole vocabulary but for the one of padding, which may have no position."""
    known = np.setdiff1d(np.arange(config.vocab_size, dtype=np.int32), [config.pad_token_id or 0])
    most = getattr(config, "max_position_embeddings", max(PROBE_LENGTHS)) - (config.pad_token_id or 0) - 1
    rng = np.random.default_rng(0)
    return [rng.choice(known, min(n, most)) for n in PROBE_LENGTHS]
