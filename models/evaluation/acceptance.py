"""What a build must hold beside the vectors of torch in float32: quality, and vectors that no company changes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.evaluation.evaluation import AVERAGE
from semblance.models.evaluation.outcomes import Evaluation
from semblance.models.evaluation.reporting.tables import TextTable
from semblance.models.evaluation.scorer import Track
from semblance.models.networks.agreement import least_cosine
from semblance.models.protocols import Encoder

MEASURES = ("cosine", "rcmd")
QUALITY = 0.2  # how far the average of the seven STS sets, times 100, may be from that of float32
TOKENS, POOLED, SCORE = 0.9998, 0.9999, 0.005  # least cosines, and largest difference of a score, alone and in company
BATCH = 32
TEXTS = 400  # that are encoded alone and in company


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure and the bound that it has to keep: the least that it may be, or the most."""

    name: str
    found: float
    bound: float
    at_least: bool

    @property
    def holds(self) -> bool:
        """Whether it does; what is no number does not."""
        return self.found >= self.bound if self.at_least else self.found <= self.bound


def quality(evaluation: Evaluation) -> list[Condition]:
    """How far each average over the seven STS sets is from that of the baseline, times 100."""
    return [
        Condition(
            f"{each.measure}, average of the seven sets, difference", abs(100 * each.against.value), QUALITY, False
        )
        for each in evaluation.outcomes
        if each.set == AVERAGE and each.against is not None
    ]


def company(encoder: Encoder, texts: Sequence[str], track: Track) -> list[Condition]:
    """How far texts encoded alone are from the same texts among others of all lengths."""
    rng = random.Random(0)  # noqa: S311 - draws texts
    given = rng.sample(list(dict.fromkeys(texts)), TEXTS - TEXTS // 4)
    given += [" ".join(rng.choices(given, k=rng.randint(2, 12))) for _ in range(TEXTS - len(given))]
    rng.shuffle(given)
    alone = [_encoded(encoder, [text])[0] for text in track(given, "texts alone")]
    batches = track([given[start : start + BATCH] for start in range(0, len(given), BATCH)], "texts in company")
    together = [each for batch in batches for each in _encoded(encoder, batch)]
    pairs = list(zip(alone, together, strict=True))
    found = [
        Condition("a token alone and in company, least cosine", _least(pairs, tokens=True), TOKENS, True),
        Condition("a text alone and in company, least cosine", _least(pairs, tokens=False), POOLED, True),
    ]
    for name in MEASURES:
        scores = [similarity(name).score_many(side[0], side[1:]) for side in (alone, together)]
        most = float(np.abs(scores[0] - scores[1]).max())
        found.append(Condition(f"{name} alone and in company, largest difference", most, SCORE, False))
    return found


def conditions_table(found: Sequence[Condition], about: Mapping[str, str]) -> TextTable:
    """A line a condition."""
    rows = tuple(
        (
            each.name,
            f"{each.found:.5f}",
            f"at {'least' if each.at_least else 'most'} {each.bound}",
            "holds" if each.holds else "FAILS",
        )
        for each in found
    )
    title = f"{about['model']}, build {about['build'][:12]}, beside torch in float32"
    return TextTable(title, ("condition", "found", "bound", "verdict"), rows)


def _encoded(encoder: Encoder, texts: Sequence[str]) -> list[TokenEmbeddings]:
    return encoder.encode(encoder.tokenize(texts, "query", "END"), "tokens")


def _least(pairs: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]], *, tokens: bool) -> float:
    """The least cosine of what should be the same vectors."""
    vectors = [(a.vectors, b.vectors) if tokens else (a.pooled()[None], b.pooled()[None]) for a, b in pairs]
    return least_cosine(vectors)
