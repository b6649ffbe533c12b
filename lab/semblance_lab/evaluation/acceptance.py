"""Acceptance of a build: quality as in float32, and vectors independent of the batch."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.networks.agreement import least_cosine
from semblance.models.protocols import Encoder, Track
from semblance.service.cli.toolbox.console import TextTable
from semblance_lab.evaluation.evaluation import STS_AVERAGE
from semblance_lab.evaluation.results import Evaluation

MEASURES = ("cosine", "rcmd")
QUALITY = 0.2  # largest difference to float32 of the average over the seven STS sets, times 100
TOKENS, POOLED, SCORE = 0.9998, 0.9999, 0.005  # least cosines, and largest difference of a score, alone and in a batch
BATCH = 32
TEXTS = 400  # encoded alone and in batches


@dataclass(frozen=True, slots=True)
class Condition:
    """A value and its bound, which is the least or the largest allowed value."""

    name: str
    value: float
    bound: float
    at_least: bool

    @property
    def holds(self) -> bool:
        """Whether the value is within the bound; nan never is."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def quality_conditions(evaluation: Evaluation) -> list[Condition]:
    """The difference of each average over the seven STS sets to the baseline, times 100."""
    return [
        Condition(
            f"{outcome.measure}, average of the seven sets, difference",
            abs(100 * outcome.against.value),
            QUALITY,
            False,
        )
        for outcome in evaluation.outcomes
        if outcome.set == STS_AVERAGE and outcome.against is not None
    ]


def batch_conditions(encoder: Encoder, texts: Sequence[str], track: Track) -> list[Condition]:
    """The difference of texts encoded alone to the same texts in batches of mixed lengths."""
    rng = random.Random(0)  # noqa: S311 - draws texts
    drawn = rng.sample(list(dict.fromkeys(texts)), TEXTS - TEXTS // 4)
    drawn += [" ".join(rng.choices(drawn, k=rng.randint(2, 12))) for _ in range(TEXTS - len(drawn))]
    rng.shuffle(drawn)
    alone = [_encode(encoder, [text])[0] for text in track(drawn, "texts alone")]
    batches = track([drawn[start : start + BATCH] for start in range(0, len(drawn), BATCH)], "texts in batches")
    batched = [each for batch in batches for each in _encode(encoder, batch)]
    pairs = list(zip(alone, batched, strict=True))
    conditions = [
        Condition("a token alone and in a batch, least cosine", _least_cosine(pairs, tokens=True), TOKENS, True),
        Condition("a text alone and in a batch, least cosine", _least_cosine(pairs, tokens=False), POOLED, True),
    ]
    for name in MEASURES:
        scores = [similarity(name).score_many(side[0], side[1:]) for side in (alone, batched)]
        largest = float(np.abs(scores[0] - scores[1]).max())
        conditions.append(Condition(f"{name} alone and in a batch, largest difference", largest, SCORE, False))
    return conditions


def conditions_table(conditions: Sequence[Condition], about: Mapping[str, str]) -> TextTable:
    """A table with a row for each condition."""
    rows = tuple(
        (
            condition.name,
            f"{condition.value:.5f}",
            f"at {'least' if condition.at_least else 'most'} {condition.bound}",
            "holds" if condition.holds else "FAILS",
        )
        for condition in conditions
    )
    title = f"{about['model']}, build {about['build'][:12]}, compared with torch in float32"
    return TextTable(title, ("condition", "found", "bound", "verdict"), rows)


def _encode(encoder: Encoder, texts: Sequence[str]) -> list[TokenEmbeddings]:
    return encoder.encode(encoder.tokenize(texts, "query", "END"), "tokens")


def _least_cosine(pairs: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]], *, tokens: bool) -> float:
    """The least cosine of vectors that should be equal."""
    vectors = [(a.vectors, b.vectors) if tokens else (a.pooled()[None], b.pooled()[None]) for a, b in pairs]
    return least_cosine(vectors)
