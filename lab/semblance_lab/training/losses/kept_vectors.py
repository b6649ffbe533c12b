"""Keep the token vectors of running text near those before training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from peft.tuners.lora import LoraLayer
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import cosine_similarity

from semblance_lab.training.losses.draws import draw, encode, tokenize
from semblance_lab.training.processes import share_of_mean


@dataclass(frozen=True, slots=True)
class KeptVectors:
    """Mean distance of token vectors from those of the network without its adapters.

    With h_k the vector of token k of a batch of texts, and h'_k the one without adapters, over all real tokens::

        loss = weight mean_k (1 - cos(h_k, h'_k))                                  in [0, 2 weight]

    0 if the adapters change no direction, as before the first step. Contrastive training on one kind of text moves the
    vectors of every other kind; this term limits that, without labels.

    Attributes:
        model: encoder of sentence-transformers with low-rank adapters.
        texts: to draw batches from.
        weight: above 0.
        batch_size: texts of a batch.
        max_tokens: of a text, special ones included; longer texts are truncated.

    Source: the idea of li-hoiem-2016-lwf, section 3, with token vectors in place of class probabilities.
    """

    model: SentenceTransformer
    texts: Sequence[str]
    weight: float
    batch_size: int
    max_tokens: int

    def __call__(self) -> Tensor:
        """The loss of a random batch, a scalar."""
        return self.of(draw(self.texts, self.batch_size))

    def of(self, texts: Sequence[str]) -> Tensor:
        """The loss of these texts, a scalar."""
        # First: switching adapters off and on again changes `requires_grad`, which no graph may have recorded before.
        batch, _ = tokenize(self.model, texts, self.max_tokens)
        with torch.no_grad(), _without_adapters(self.model):
            before = encode(self.model, batch)
        after = encode(self.model, batch)
        cosines = cosine_similarity(after.tokens[after.mask].float(), before.tokens[before.mask].float())
        return self.weight * share_of_mean(1 - cosines)


@contextmanager
def _without_adapters(model: SentenceTransformer) -> Iterator[None]:
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
