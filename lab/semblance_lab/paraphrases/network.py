"""Network of the classifier: from words of two texts to log-odds that they say the same."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from semblance_lab.paraphrases.clues import FACTS, ClueBatch, WordBatch

PROJECTED, PAIRED, HIDDEN = 24, 32, 64  # p, q and h
SCALE = 8.0  # of the vectors, so that weights of common size read them
FIXED = 8.0  # penalty of a number that the other text lacks, and the largest of a negation
LINK, NEAREST, SAME, CROSSED, CONTENT, PLAIN, REPLACED = range(len(FACTS))
SPREAD, MIDDLE = 10.0, 0.8  # of shares of words that both texts have: most are near 0.8
TINY = 1e-12  # below the root, so that it has a slope at 0


class LogOdds(NamedTuple):
    """(p,) log-odds of pairs: that the texts say the same, and that b follows from a."""

    same: Tensor
    entails: Tensor


class ParaphraseNetwork(nn.Module):
    """Penalties of words, and what they take from the log-odds.

    The penalty of a word with the unit vector v, whose partner has the unit vector u, is

        softplus(3 f(x)) max(0, 1 - r - m) + softplus(c . relu(P v + p0) + c' share + c0) crossed

    where share is that of the words of its text that the other text has, too: texts that share all their words differ
    by nothing but their order. x joins relu(P v + p0), same, content, replaced, (Q v * Q u) replaced and
    |Q v - Q u| replaced; f is a network with one hidden layer of rectified units; r is the link to a partner that is
    the same word, and otherwise s link + (1 - s) nearest. Numbers and negations have none. m is within 0 and 0.4.

        log-odds(same) = base - sqrt(sum of the squares of the penalties of both texts) - t (1 - cosine)
        log-odds(b follows) = base' - sqrt(sum of those of b)

    A number that the other text lacks has the penalty 8; an odd number of negations on one side only has 8 times its
    weight, of which half the square counts on each side.

    Args:
        dim: d, the length of the vectors.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.word = nn.Linear(dim, PROJECTED)
        self.pair = nn.Linear(dim, PAIRED, bias=False)
        self.hidden = nn.Linear(PROJECTED + 3 + 2 * PAIRED, HIDDEN)
        self.out = nn.Linear(HIDDEN, 1)
        self.crossed = nn.Linear(PROJECTED + 1, 1)
        self.base = nn.Parameter(torch.tensor([3.0, 2.0]))
        self.mix = nn.Parameter(torch.tensor(0.0))
        self.margin = nn.Parameter(torch.tensor(0.1))
        self.text = nn.Parameter(torch.tensor(-1.0))

    def penalties(self, words: WordBatch) -> Tensor:
        """(m,) penalty of each word, at least 0."""
        v, u, facts = SCALE * words.vectors, SCALE * words.partners, words.facts
        seen = functional.relu(self.word(v))
        own, other, replaced = self.pair(v), self.pair(u), facts[:, REPLACED, None]
        x = torch.cat(
            [seen, facts[:, [SAME, CONTENT, REPLACED]], own * other * replaced, (own - other).abs() * replaced], 1
        )
        weight = functional.softplus(3 * self.out(functional.relu(self.hidden(x))).squeeze(1))
        share = torch.sigmoid(self.mix)
        mixed = share * facts[:, LINK] + (1 - share) * facts[:, NEAREST]
        near = torch.where(facts[:, SAME] > 0, facts[:, LINK], mixed)
        spread = SPREAD * (_shares(words) - MIDDLE)[:, None]
        crossing = functional.softplus(self.crossed(torch.cat([seen, spread], 1)).squeeze(1)) * facts[:, CROSSED]
        return (weight * (1 - near - self._kept_margin()).clamp(min=0) + crossing) * facts[:, PLAIN]

    def forward(self, clues: ClueBatch) -> LogOdds:
        """Log-odds of p pairs."""
        a, b = (
            (FIXED**2 * (clues.lacking[:, k] + clues.negated.square() / 2)).index_add(
                0, words.pairs, self.penalties(words).square()
            )
            for k, words in enumerate(clues.words)
        )
        text = self._text_weight() * (1 - clues.cosine)
        return LogOdds(self.base[0] - (a + b + TINY).sqrt() - text, self.base[1] - (b + TINY).sqrt())

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that log-odds(same) is computed from, float32, as the formula uses them.

        ======================================= =========================================================
        `word.weight` (24, d), `word.bias` (24) P and p0
        `pair.weight` (32, d)                   Q
        `hidden.weight` (64, 91), `.bias` (64)  hidden layer of f, which reads x in the order of its parts
        `out.weight` (64), `out.bias` ()        output of f
        `crossed.weight` (25), `crossed.bias` () c, c' and c0
        `base`, `text`, `margin`, `mix` ()      base, t, m and s
        ======================================= =========================================================
        """
        crossed = self.crossed.weight[0]
        found = {
            "word.weight": SCALE * self.word.weight,
            "word.bias": self.word.bias,
            "pair.weight": SCALE * self.pair.weight,
            "hidden.weight": self.hidden.weight,
            "hidden.bias": self.hidden.bias,
            "out.weight": self.out.weight[0],
            "out.bias": self.out.bias[0],
            "crossed.weight": torch.cat([crossed[:-1], SPREAD * crossed[-1:]]),
            "crossed.bias": self.crossed.bias[0] - SPREAD * MIDDLE * crossed[-1],
            "base": self.base[0],
            "text": self._text_weight(),
            "margin": self._kept_margin(),
            "mix": torch.sigmoid(self.mix),
        }
        return {name: tensor.detach().clone().contiguous() for name, tensor in found.items()}

    def _text_weight(self) -> Tensor:
        return 5 * functional.softplus(self.text)

    def _kept_margin(self) -> Tensor:
        return self.margin.clamp(0, 0.4)


def _shares(words: WordBatch) -> Tensor:
    """(m,) the share of the plain words of the text of each word that the other text has, too."""
    plain, pairs = words.facts[:, PLAIN], int(words.pairs.max()) + 1
    counts, same = (
        torch.zeros(pairs).index_add(0, words.pairs, each) for each in (plain, plain * words.facts[:, SAME])
    )
    return (same / counts.clamp(min=1))[words.pairs]
