"""Loss of a tokenized batch: encode its columns, and apply the objective to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from semblance_lab.training.errors import TrainingDiverged
from semblance_lab.training.objective import EncodedColumn, Objective

Features: TypeAlias = Mapping[str, Any]


class EncodedLoss(nn.Module):
    """Loss of an objective over the encoded columns of a batch.

    With `mini_batch` the gradients are cached (gao-etal-2021-gradcache, section 3): all texts are encoded once without
    a graph, the objective gives the gradient of every token vector, and each mini-batch is encoded again with a graph
    to backpropagate its share. Loss and gradients equal those of a single pass; only the graph of one mini-batch is in
    memory.

    Args:
        model: encoder of sentence-transformers, whose modules give `token_embeddings` and `sentence_embedding`.
        objective: computes the loss of the encoded columns.
        mini_batch: texts encoded at once, or None for all.
        left_out: ids of special tokens that do not count: neither for the objective nor in the pooled vector, which is
            then the mean of the other tokens. All count in a text without others.
        prompt_tokens: number of first tokens of every text that do not count likewise.
        further: losses that draw their own texts, and are added.

    Raises:
        TrainingDiverged: the loss is not a finite number.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        mini_batch: int | None = None,
        left_out: Collection[int] = (),
        prompt_tokens: int = 0,
        further: Sequence[Callable[[], Tensor]] = (),
    ) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        self._further = further
        self._mini_batch = mini_batch
        self._prompt_tokens = prompt_tokens
        self._left_out = torch.tensor(sorted(left_out))

    def forward(self, columns: Sequence[Features], labels: Tensor | None) -> Tensor:
        """Mean loss of the batch, a scalar."""
        # before the objective: a loss may switch adapters off and on, which no graph may have recorded
        further = [each() for each in self._further] if torch.is_grad_enabled() else []
        loss = self._of_objective(columns, labels)
        for each in further:
            loss = loss + each
        if not torch.isfinite(loss):
            raise TrainingDiverged(f"the loss is {loss.item()}")
        return loss

    def _of_objective(self, columns: Sequence[Features], labels: Tensor | None) -> Tensor:
        if self._mini_batch is not None and torch.is_grad_enabled():
            return self._cached([_mini_batches(column, self._mini_batch) for column in columns], labels)
        return self.objective([self._encode(column) for column in columns], labels)

    def _encode(self, column: Features) -> EncodedColumn:
        out = self.model(dict(column))
        tokens, mask, pooled = out["token_embeddings"], out["attention_mask"].bool(), out["sentence_embedding"]
        if len(self._left_out):
            ids = column["input_ids"]
            own = mask & ~torch.isin(ids, self._left_out.to(ids.device))
            own[:, : self._prompt_tokens] = False
            mask = torch.where(own.any(dim=1, keepdim=True), own, mask)
            pooled = (tokens * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
        return EncodedColumn(tokens, mask, pooled)

    def _cached(self, columns: Sequence[Sequence[Features]], labels: Tensor | None) -> Tensor:
        """Loss without the encoder's graph; its `backward()` re-encodes mini-batch by mini-batch."""
        mini_batches = [_MiniBatch(self._encode, features) for column in columns for features in column]
        # First pass, without a graph: the vectors become leaves, so that autograd stops at them. In-batch objectives
        # compare every row with every other, so the loss needs the vectors of all mini-batches at once.
        with torch.no_grad():
            leaves = [_as_leaf(mini_batch.encode()) for mini_batch in mini_batches]
        remaining = iter(leaves)
        loss = self.objective([_concatenate([next(remaining) for _ in column]) for column in columns], labels)
        # Gradients of the vectors, and of the objective's own weights: no second pass reaches those, as it only
        # re-encodes. Objectives use the tokens, the pooled vectors or both, hence `allow_unused`.
        weights = list(self.objective_weights().values())
        inputs = [*(leaf.tokens for leaf in leaves), *(leaf.pooled for leaf in leaves), *weights]
        gradients = torch.autograd.grad(loss, inputs, allow_unused=True)
        n = len(leaves)

        def backward(scale: Tensor) -> None:
            for each, of_tokens, of_pooled in zip(mini_batches, gradients[:n], gradients[n : 2 * n], strict=True):
                each.backward(of_tokens, of_pooled, scale)
            for weight, gradient in zip(weights, gradients[2 * n :], strict=True):
                if gradient is not None:
                    weight.grad = gradient * scale if weight.grad is None else weight.grad + gradient * scale

        # The trainer divides the loss by accumulation steps, and float16 scales it, before `backward()`. A hook gets
        # that factor as the gradient of the detached loss, so the second pass runs then, with the right scale.
        detached = loss.detach().requires_grad_()
        detached.register_hook(backward)  # type: ignore[no-untyped-call]
        return detached

    def objective_weights(self) -> dict[str, nn.Parameter]:
        """Weights of the objective by name, such as those of a classifier; empty if it has none."""
        return dict(self.objective.named_parameters()) if isinstance(self.objective, nn.Module) else {}


class _MiniBatch:
    """A mini-batch that is encoded twice, with the same dropout masks and the same precision."""

    def __init__(self, encode: Callable[[Features], EncodedColumn], features: Features) -> None:
        self._encode = encode
        self._features = features
        device = features["input_ids"].device
        self._device = device.type
        self._devices = [device] if device.type == "cuda" else []
        self._precision = torch.get_autocast_dtype(self._device) if torch.is_autocast_enabled(self._device) else None

    def encode(self) -> EncodedColumn:
        """Encode, and save the state of the random generators for `backward`."""
        self._cpu_state = torch.get_rng_state()
        self._cuda_states = [torch.cuda.get_rng_state(device) for device in self._devices]
        return self._encode(self._features)

    def backward(self, of_tokens: Tensor | None, of_pooled: Tensor | None, scale: Tensor) -> None:
        """Encode again with a graph, and backpropagate the vectors' gradients into the weights."""
        # The hook runs in backward(), outside the trainer's autocast: without the first pass's number type and
        # generator states, the gradients would belong to other vectors than those that the loss compared.
        reduced = torch.autocast(self._device, self._precision, enabled=self._precision is not None)
        with torch.random.fork_rng(self._devices), torch.enable_grad(), reduced:
            torch.set_rng_state(self._cpu_state)
            for device, state in zip(self._devices, self._cuda_states, strict=True):
                torch.cuda.set_rng_state(state, device)
            out = self._encode(self._features)
        pairs = [(out.tokens, of_tokens), (out.pooled, of_pooled)]
        used = [(each, gradient * scale) for each, gradient in pairs if gradient is not None]
        torch.autograd.backward([each for each, _ in used], [gradient for _, gradient in used])


def _mini_batches(column: Features, rows: int) -> list[Features]:
    """Split every tensor that has one row per text; copy everything else."""
    n = len(column["input_ids"])
    return [
        {
            name: value[start : start + rows] if isinstance(value, Tensor) and value.shape[:1] == (n,) else value
            for name, value in column.items()
        }
        for start in range(0, n, rows)
    ]


def _as_leaf(column: EncodedColumn) -> EncodedColumn:
    return EncodedColumn(column.tokens.detach().requires_grad_(), column.mask, column.pooled.detach().requires_grad_())


def _concatenate(parts: Sequence[EncodedColumn]) -> EncodedColumn:
    return EncodedColumn(
        torch.cat([part.tokens for part in parts]),
        torch.cat([part.mask for part in parts]),
        torch.cat([part.pooled for part in parts]),
    )
