"""Distillation: an encoder learns the similarities that other encoders find."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import kl_div, normalize
from torch.nn.utils.rnn import pad_sequence

from semblance.models.protocols import Encoder
from semblance_lab.training.losses.pairwise_rcmd import TokenBatch, pairwise_rcmd
from semblance_lab.training.objective import EncodedColumn, require_labels
from semblance_lab.training.processes import share_of_mean


class Distillation:
    """The similarities of the texts of a batch must be those that teachers find.

    Row i is a text t_i, which the teachers read. The student reads x_i, which is t_i, and y_i, which is a translation
    of it or t_i again. S_ij is the cosine of the pooled vectors of x_i and y_j, and S'_ij a teacher's of t_i and t_j::

        T_ij = mean over the teachers of (S'_ij - m) / (1 - m)           with m the mean of its S'_ij, i != j
        E    = ( mean of (S - T)^2 over i = j, over the two texts of a pair, and over all others ) / 3
        K    = mean over the rows of S and T, and over their columns, of KL( softmax(T / t) || softmax(S / t) )
        loss = pooled (E + contrast K) + tokens (the same, with RCMD in place of the cosine)            in [0, inf)

    Rows 2k and 2k + 1 are a pair: related texts, such as neighbors, or the two of a question asked twice. RCMD is that
    of words (`rcmd_words`), so that the vectors of tokens are taught.

    Columns: the text, and its translation or none. Labels: the number of each row, by which the teachers know its text.
    Texts are compared with those of the same process only.

    0 if the student finds the similarities T, and gives translations the same directions. Relative to m, the
    similarities of a teacher whose cosines are all high spread as well. K is the contrastive loss of CLRCMD with the
    teachers' choices as labels, so that texts that are nearly the same are not torn apart. Unlike vectors, similarities
    can be taught to an encoder of another dimension and tokenizer.

    Args:
        teachers: one or more encoders.
        texts: the text of each row.
        pooled: weight of the similarities of pooled vectors.
        tokens: weight of those of token vectors.
        contrast: weight of K beside E.
        temperature: t.

    Prefer it where a stronger encoder is at hand that is too slow to serve, and texts without labels.

    >>> class Teacher:  # finds 0.5 for the two texts, so that m is 0.5, and T is 1 and 0
    ...     def tokenize(self, texts, role, truncate): return texts
    ...     def encode(self, texts, want): return [two_tokens([4, 0]), two_tokens([2, 12**0.5])]
    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> from semblance.models.text import TokenizedText
    >>> def two_tokens(vector):
    ...     text = TokenizedText("", np.zeros(2, np.int32), np.zeros((2, 2), np.int32), np.arange(2, dtype=np.int32))
    ...     return TokenEmbeddings(np.array([vector] * 2, np.float32), np.ones(2, np.float32), text)
    >>> def column(*vectors: list[float]) -> EncodedColumn:
    ...     tokens = torch.tensor(vectors)[:, None]
    ...     return EncodedColumn(tokens, torch.ones(tokens.shape[:2], dtype=torch.bool), tokens[:, 0])
    >>> distillation = Distillation([Teacher()], ["one", "another"], contrast=0)
    >>> rows = torch.arange(2)
    >>> round(distillation([column([1.0, 0.0], [0.0, 1.0])], rows).item(), 4)  # as taught
    0.0
    >>> round(distillation([column([1.0, 0.0], [3.0, 4.0])], rows).item(), 4)  # 0.6 in place of 0, of two: 0.36 / 3 * 2
    0.24

    Raises:
        ValueError: labels are missing, or a text has no token.

    Source: hinton-etal-2015-distillation, section 2, over the texts of a batch; reimers-gurevych-2020-multilingual,
    section 2, for translations, with similarities in place of vectors.
    """

    def __init__(
        self,
        teachers: Sequence[Encoder],
        texts: Sequence[str],
        *,
        pooled: float = 1.0,
        tokens: float = 1.0,
        contrast: float = 0.1,
        temperature: float = 0.05,
    ) -> None:
        self._teachers = teachers
        self._texts = texts
        self._pooled = pooled
        self._tokens = tokens
        self._contrast = contrast
        self._temperature = temperature

    def __call__(self, columns: Sequence[EncodedColumn], labels: Tensor | None) -> Tensor:
        """Mean loss of a batch, a scalar."""
        rows = require_labels(labels, "the number of the row, by which the teachers know its text").long()
        texts = [self._texts[row] for row in rows.tolist()]
        x, y = columns[0], columns[-1]
        taught = [_taught(teacher, texts, x.tokens.device) for teacher in self._teachers]
        related = (rows // 2)[:, None] == rows // 2
        with torch.autocast(x.tokens.device.type, enabled=False):
            of_pooled = self._difference(_cosines(x, y), [_cosines(t, t) for t in taught], related)
            of_tokens = self._difference(_rcmd(x, y), [_rcmd(t, t) for t in taught], related)
        return self._pooled * of_pooled + self._tokens * of_tokens

    def _difference(self, found: Tensor, taught: Sequence[Tensor], related: Tensor) -> Tensor:
        """E + contrast K of (b, b) similarities."""
        target = torch.stack([_relative(each) for each in taught]).mean(dim=0)
        divergence = _divergence(found / self._temperature, target / self._temperature)
        return _distance(found, target, related) + self._contrast * divergence


def _taught(teacher: Encoder, texts: Sequence[str], device: torch.device) -> EncodedColumn:
    """Encode by a teacher; the tokens are those of words."""
    found = teacher.encode(teacher.tokenize(texts, "query", "END"), "tokens")
    words = [torch.from_numpy(each.vectors[~each.text.special]) for each in found if each.text is not None]
    lengths = torch.tensor([len(each) for each in words])
    tokens = pad_sequence(words, batch_first=True)
    mask = torch.arange(tokens.shape[1]) < lengths[:, None]
    pooled = torch.stack([torch.from_numpy(each.pooled()) for each in found])
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
