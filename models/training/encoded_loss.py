"""From the token ids of a batch to its loss: the encoder, then the objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from semblance.models.training.errors import TrainingDiverged
from semblance.models.training.objective import Encoded, Objective

Features: TypeAlias = Mapping[str, Any]


class EncodedLoss(nn.Module):
    """The loss of an objective over the columns of a batch, each of which passes through the encoder.

    With `mini_batch` the gradients are cached (gao-etal-2021-gradcache, section 3): all texts pass once without a
    graph, the objective gives the gradient of every token vector, and each mini-batch passes again with a graph to take
    its own gradient back. The loss and the gradients are those of one pass; the graph held is that of one mini-batch.

    Args:
        model: encoder of sentence-transformers, whose modules give `token_embeddings` and `sentence_embedding`.
        objective: what makes a number of the encoded columns.
        mini_batch: texts a pass, or None for all at once.

    Raises:
        TrainingDiverged: the loss is not a finite number.
    """

    def __init__(self, model: nn.Module, objective: Objective, mini_batch: int | None = None) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        self._mini_batch = mini_batch

    def forward(self, columns: Sequence[Features], labels: Tensor | None) -> Tensor:
        """The mean loss of the batch, a scalar."""
        if self._mini_batch is not None and torch.is_grad_enabled():
            loss = self._cached([_parts(column, self._mini_batch) for column in columns], labels)
        else:
            loss = self.objective([self._encode(column) for column in columns], labels)
        if not torch.isfinite(loss):
            raise TrainingDiverged(f"the loss is {loss.item()}")
        return loss

    def _encode(self, column: Features) -> Encoded:
        out = self.model(dict(column))
        return Encoded(out["token_embeddings"], out["attention_mask"].bool(), out["sentence_embedding"])

    def _cached(self, columns: Sequence[Sequence[Features]], labels: Tensor | None) -> Tensor:
        flat = [part for parts in columns for part in parts]
        passes = [_Pass(self._encode, part) for part in flat]
        with torch.no_grad():
            leaves = [_leaf(each.first()) for each in passes]
        grouped = iter(leaves)
        loss = self.objective([_joined([next(grouped) for _ in parts]) for parts in columns], labels)
        weights = list(self.own_weights().values())
        inputs = [*(leaf.tokens for leaf in leaves), *(leaf.pooled for leaf in leaves), *weights]
        gradients = torch.autograd.grad(loss, inputs, allow_unused=True)
        n = len(leaves)

        def go_back(scale: Tensor) -> None:
            for each, of_tokens, of_pooled in zip(passes, gradients[:n], gradients[n : 2 * n], strict=True):
                each.back(of_tokens, of_pooled, scale)
            for weight, gradient in zip(weights, gradients[2 * n :], strict=True):
                if gradient is not None:
                    weight.grad = gradient * scale if weight.grad is None else weight.grad + gradient * scale

        detached = loss.detach().requires_grad_()
        detached.register_hook(go_back)  # type: ignore[no-untyped-call]
        return detached

    def own_weights(self) -> dict[str, nn.Parameter]:
        """The weights of the objective by name, such as those of a classifier; none where it has no weights."""
        return dict(self.objective.named_parameters()) if isinstance(self.objective, nn.Module) else {}


class _Pass:
    """One mini-batch through the encoder, which can be done again with the same dropout and the same precision."""

    def __init__(self, encode: Callable[[Features], Encoded], features: Features) -> None:
        self._encode = encode
        self._features = features
        device = features["input_ids"].device
        self._device = device.type
        self._devices = [device] if device.type == "cuda" else []
        self._precision = torch.get_autocast_dtype(self._device) if torch.is_autocast_enabled(self._device) else None

    def first(self) -> Encoded:
        self._cpu_state = torch.get_rng_state()
        self._cuda_states = [torch.cuda.get_rng_state(device) for device in self._devices]
        return self._encode(self._features)

    def back(self, of_tokens: Tensor | None, of_pooled: Tensor | None, scale: Tensor) -> None:
        """Take the gradients of this mini-batch's vectors back into the weights."""
        reduced = torch.autocast(self._device, self._precision, enabled=self._precision is not None)
        with torch.random.fork_rng(self._devices), torch.enable_grad(), reduced:
            torch.set_rng_state(self._cpu_state)
            for device, state in zip(self._devices, self._cuda_states, strict=True):
                torch.cuda.set_rng_state(state, device)
            out = self._encode(self._features)
        pairs = [(out.tokens, of_tokens), (out.pooled, of_pooled)]
        known = [(each, gradient * scale) for each, gradient in pairs if gradient is not None]
        torch.autograd.backward([each for each, _ in known], [gradient for _, gradient in known])


def _parts(column: Features, rows: int) -> list[Features]:
    """The column in mini-batches: every tensor that has a row for each text is cut."""
    n = len(column["input_ids"])
    return [
        {
            name: value[start : start + rows] if isinstance(value, Tensor) and value.shape[:1] == (n,) else value
            for name, value in column.items()
        }
        for start in range(0, n, rows)
    ]


def _leaf(encoded: Encoded) -> Encoded:
    return Encoded(encoded.tokens.detach().requires_grad_(), encoded.mask, encoded.pooled.detach().requires_grad_())


def _joined(parts: Sequence[Encoded]) -> Encoded:
    return Encoded(
        torch.cat([part.tokens for part in parts]),
        torch.cat([part.mask for part in parts]),
        torch.cat([part.pooled for part in parts]),
    )
