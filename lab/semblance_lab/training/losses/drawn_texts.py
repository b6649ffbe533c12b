"""Losses that draw their own batches: of kept token vectors, and of aligned words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from peft.tuners.lora import LoraLayer
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize
from transformers import BatchEncoding

from semblance_lab.evaluation.metrics.links import word_overlaps
from semblance_lab.evaluation.tasks import WordAlignedPair
from semblance_lab.training.objective import EncodedColumn
from semblance_lab.training.processes import own_part, share_of_mean

T = TypeVar("T")


def draw(items: Sequence[T], size: int) -> list[T]:
    """Different items at random, all if there are fewer than `size`.

    With several processes, each gets its part of them.

    By torch's global generator, whose state is part of a checkpoint, so that a run that resumes draws the same.
    """
    return [items[i] for i in own_part(torch.randperm(len(items))[:size]).tolist()]


def tokenize(model: SentenceTransformer, texts: Sequence[str], max_tokens: int) -> tuple[BatchEncoding, Tensor]:
    """Tokenize texts without a prompt, padded, on the model's device.

    Returns:
        The input of the network; and (b, l, 2) where in its text each token begins and ends, in characters.
    """
    lower = getattr(model[0], "do_lower_case", False)
    batch = model.tokenizer(
        [text.lower() for text in texts] if lower else list(texts),
        padding=True,
        truncation=True,
        max_length=max_tokens,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    offsets = batch.pop("offset_mapping")
    return batch.to(model.device), offsets


def encode(model: SentenceTransformer, batch: BatchEncoding) -> EncodedColumn:
    """Encode a tokenized batch."""
    out = model(dict(batch))
    return EncodedColumn(out["token_embeddings"], batch["attention_mask"].bool(), out["sentence_embedding"])


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


_NEVER = -1e4  # added to a logit that must not count


@dataclass(frozen=True, slots=True)
class AlignedWords:
    """Cross-entropy of each word's linked words among all words of the other sentence.

    The vector of a word is the mean of its tokens' vectors. With C (n, m) the cosines of the words of a sentence with
    those of the other, L_i the words that are surely linked to word i, and P_i those that possibly are::

        loss_i = - log( sum_{j in L_i} exp(C_ij / t) / sum_{j not in P_i} exp(C_ij / t) )

    loss = weight times the mean of loss_i over all words i of both sentences with sure links, in [0, inf). A word
    without sure links counts only as a candidate, and so does one beyond `max_tokens`, not even as that.

    0 if and only if no other word is a candidate; weight log(m / k) if all cosines are equal and k of m words are
    linked.

    Attributes:
        model: encoder of sentence-transformers.
        pairs: to draw batches from.
        weight: above 0.
        batch_size: pairs of a batch.
        max_tokens: of a sentence, special ones included; longer ones are truncated.
        temperature: t.

    Source: the supervision of arase-etal-2023-otalign, section 4, by sure links; the softmax over the words of the
    other sentence takes the place of optimal transport.
    """

    model: SentenceTransformer
    pairs: Sequence[WordAlignedPair]
    weight: float
    batch_size: int
    max_tokens: int
    temperature: float

    def __call__(self) -> Tensor:
        """The loss of a random batch, a scalar."""
        return self.of(draw(self.pairs, self.batch_size))

    def of(self, pairs: Sequence[WordAlignedPair]) -> Tensor:
        """The loss of these pairs, a scalar; 0 without sure links."""
        left, in_left = self._word_vectors([pair.left for pair in pairs])
        right, in_right = self._word_vectors([pair.right for pair in pairs])
        sure, possible = (_links(pairs, kind, left, right) for kind in ("sure", "possible"))
        both = in_left[:, :, None] & in_right[:, None, :]
        logits = left @ right.transpose(1, 2) / self.temperature
        losses = [
            _cross_entropy(logits, sure & both, both & ~possible),
            _cross_entropy(*(each.transpose(1, 2) for each in (logits, sure & both, both & ~possible))),
        ]
        return self.weight * share_of_mean(torch.cat(losses))

    def _word_vectors(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """(b, n, d) unit vectors of up to n words, and (b, n) bool, those that have tokens."""
        batch, offsets = tokenize(self.model, [" ".join(words) for words in sentences], self.max_tokens)
        tokens = encode(self.model, batch).tokens.float()
        parts = torch.zeros(len(sentences), max(map(len, sentences)), tokens.shape[1])
        for part, words, spans in zip(parts, sentences, offsets.tolist(), strict=True):
            part[: len(words)] = torch.from_numpy(word_overlaps(spans, words))
        parts = parts.to(tokens.device)
        return normalize(parts @ tokens, dim=2), parts.any(dim=2)


def _links(pairs: Sequence[WordAlignedPair], kind: str, left: Tensor, right: Tensor) -> Tensor:
    """(b, n, m) bool, the links of this kind."""
    links = torch.zeros(len(pairs), left.shape[1], right.shape[1], dtype=torch.bool)
    for link, pair in zip(links, pairs, strict=True):
        for i, j in getattr(pair, kind):
            link[i, j] = True
    return links.to(left.device)


def _cross_entropy(logits: Tensor, linked: Tensor, candidates: Tensor) -> Tensor:
    """(k,) the loss of each of the k words of the first sentences with a link."""
    has_link = linked.any(dim=2)
    every = torch.logsumexp(logits.masked_fill(~candidates, _NEVER), dim=2)
    right = torch.logsumexp(logits.masked_fill(~linked, _NEVER), dim=2)
    return (every - right)[has_link]
