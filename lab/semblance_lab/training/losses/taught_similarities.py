"""Loss of similarities that another model teaches, in any language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import kl_div, normalize
from torch.nn.utils.rnn import pad_sequence

from semblance.models.protocols import Encoder
from semblance_lab.training.losses.drawn_texts import draw, encode, tokenize
from semblance_lab.training.losses.pairwise_rcmd import TokenBatch, pairwise_rcmd
from semblance_lab.training.objective import EncodedColumn
from semblance_lab.training.processes import share_of_mean


@dataclass(frozen=True, slots=True)
class TaughtSimilarities:
    """Distance of similarities from those that a teacher finds, also between languages.

    A row is a text and its translations; the teacher reads the first of them, t_i. Rows are drawn with their successor,
    which is often a related text: the next sentence, or the other one of a pair. Of each drawn row, x_i and y_i are two
    translations at random, or the same text if there is one only. With S_ij the cosine of the pooled vectors of x_i and
    y_j, and S'_ij that of t_i and t_j by the teacher::

        T_ij = (S'_ij - m) / (1 - m)                                      with m the mean of S'_ij, i != j
        E    = ( mean of (S - T)^2 over i = j, over the two texts of a pair, and over all others ) / 3
        K    = mean over the rows of S and T, and over their columns, of KL( softmax(T / t) || softmax(S / t) )
        loss = weight (E + contrast K)

    and the mean of this and the same with the RCMD of words (`rcmd_words`) in place of the cosine. In [0, inf); 0 if
    the encoder finds the similarities T, and translations have the same directions. Relative to m, the similarities of
    a teacher whose cosines are all high spread as well. K is the contrastive loss of CLRCMD with the teacher's choices
    as labels, so that texts that are nearly the same are not torn apart.

    Unlike vectors, similarities can be taught to an encoder of another dimension and tokenizer.

    Attributes:
        model: encoder of sentence-transformers.
        teacher: gives the similarities.
        rows: to draw batches from; of one or more texts each.
        weight: above 0.
        contrast: of K beside E.
        batch_size: rows of a batch.
        max_tokens: of a text, special and prompt tokens included; longer texts are truncated.
        temperature: t.

    Source: the idea of reimers-gurevych-2020-multilingual, section 2, with similarities in place of vectors.
    """

    model: SentenceTransformer
    teacher: Encoder
    rows: Sequence[Sequence[str]]
    weight: float
    contrast: float
    batch_size: int
    max_tokens: int
    temperature: float

    def __call__(self) -> Tensor:
        """The loss of a random batch, a scalar."""
        starts = draw(range(max(1, len(self.rows) - 1)), -(-self.batch_size // 2))
        rows = [row for start in starts for row in self.rows[start : start + 2]]
        picked = [[row[k] for k in torch.randperm(len(row))[:2].tolist()] for row in rows]
        return self.of([row[0] for row in rows], [pair[0] for pair in picked], [pair[-1] for pair in picked])

    def of(self, texts: Sequence[str], left: Sequence[str], right: Sequence[str]) -> Tensor:
        """The loss of b texts, a scalar.

        Args:
            texts: t, what the teacher reads.
            left: x, a translation of each.
            right: y, likewise.
        """
        x, y = (self._encode(side) for side in (left, right))
        t = self._taught(texts)
        pairs = torch.arange(len(texts), device=x.tokens.device) // 2
        related = pairs[:, None] == pairs
        losses = [
            _distance(found, taught, related)
            + self.contrast * _divergence(found / self.temperature, taught / self.temperature)
            for found, taught in (
                (_cosines(x, y), _relative(_cosines(t, t))),
                (_rcmd(x, y), _relative(_rcmd(t, t))),
            )
        ]
        return self.weight * torch.stack(losses).mean()

    def _encode(self, texts: Sequence[str]) -> EncodedColumn:
        """Encode with the prompt of a random role; the mask leaves out special and prompt tokens."""
        prompts = [prompt for prompt in self.model.prompts.values() if prompt] or [""]
        prompt = prompts[int(torch.randint(len(prompts), ()))]
        batch, offsets = tokenize(self.model, [prompt + text for text in texts], self.max_tokens)
        encoded = encode(self.model, batch)
        own = (offsets[:, :, 1] > len(prompt)).to(encoded.mask.device)
        return EncodedColumn(encoded.tokens, own, encoded.pooled)

    def _taught(self, texts: Sequence[str]) -> EncodedColumn:
        """Encode by the teacher; the tokens are those of words."""
        found = self.teacher.encode(self.teacher.tokenize(texts, "query", "END"), "tokens")
        words = [torch.from_numpy(each.vectors[~each.text.special]) for each in found if each.text is not None]
        lengths = torch.tensor([len(each) for each in words])
        tokens = pad_sequence(words, batch_first=True)
        mask = torch.arange(tokens.shape[1]) < lengths[:, None]
        pooled = torch.stack([torch.from_numpy(each.pooled()) for each in found])
        device = self.model.device
        return EncodedColumn(tokens.to(device), mask.to(device), pooled.to(device))


def _cosines(x: EncodedColumn, y: EncodedColumn) -> Tensor:
    return normalize(x.pooled.float(), dim=1) @ normalize(y.pooled.float(), dim=1).T


def _relative(similarities: Tensor) -> Tensor:
    """(b, b) similarities with their mean, the diagonal left out, as 0, and 1 as 1."""
    apart = ~torch.eye(len(similarities), dtype=torch.bool, device=similarities.device)
    mean = similarities[apart].mean().clamp(max=1 - 1e-6)  # 1 in a batch of one repeated text
    return (similarities - mean) / (1 - mean)


def _distance(found: Tensor, taught: Tensor, related: Tensor) -> Tensor:
    """Mean squared distance of translations, of texts of a pair, and of others, a third each."""
    same = torch.eye(len(found), dtype=torch.bool, device=found.device)
    errors = (found - taught) ** 2
    return torch.stack([share_of_mean(errors[group]) for group in (same, related & ~same, ~related)]).mean()


def _divergence(found: Tensor, taught: Tensor) -> Tensor:
    """Mean Kullback-Leibler divergence of the softmax of rows and columns from the taught."""
    divergences = [
        kl_div(x.log_softmax(dim=1), t.log_softmax(dim=1), reduction="none", log_target=True).sum(dim=1)
        for x, t in ((found, taught), (found.T, taught.T))
    ]
    return share_of_mean(torch.cat(divergences))


def _rcmd(x: EncodedColumn, y: EncodedColumn) -> Tensor:
    return pairwise_rcmd(TokenBatch(x.tokens, x.mask), TokenBatch(y.tokens, y.mask))
