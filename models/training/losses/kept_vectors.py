"""Keep the token vectors of running text near those before training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity


class KeptVectors:
    """Mean distance of token vectors from those of the network without its adapters.

    With h_k the vector of token k of a batch, and h'_k the one without adapters, over all n real tokens::

        loss = weight mean_k (1 - cos(h_k, h'_k))                                  in [0, 2 weight]

    0 if the adapters change no direction, as before the first step. Contrastive training on one kind of text moves the
    vectors of every other kind; this term limits that, without labels.

    Args:
        model: encoder of sentence-transformers with adapters.
        weight: above 0.

    Source: the idea of li-hoiem-2016-lwf, section 3, with token vectors in place of class probabilities.
    """

    def __init__(self, model: nn.Module, weight: float) -> None:
        self._model = model
        self._weight = weight

    def __call__(self, features: Mapping[str, Any]) -> Tensor:
        """The loss of a tokenized batch, a scalar."""
        # First: switching adapters off and on again changes `requires_grad`, which no graph may have recorded before.
        with torch.no_grad(), _without_adapters(self._model):
            start = self._model(dict(features))
        tuned = self._model(dict(features))
        real = tuned["attention_mask"].bool()
        cosines = cosine_similarity(tuned["token_embeddings"][real].float(), start["token_embeddings"][real].float())
        return self._weight * (1 - cosines).mean()


@contextmanager
def _without_adapters(model: nn.Module) -> Iterator[None]:
    """Switch the adapters off, and dropout with them."""
    adapters = [module for module in model.modules() if isinstance(module, LoraLayer)]
    training = model.training
    model.eval()
    for adapter in adapters:
        adapter.enable_adapters(False)
    try:
        yield
    finally:
        model.train(training)
        for adapter in adapters:
            adapter.enable_adapters(True)
