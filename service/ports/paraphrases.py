"""Paraphrase classifiers as they are served, with the cut of a fitted bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from semblance_client.vocabulary.same import FalseHitBound, ReasonKind, Unfit

from semblance.models.paraphrases.classifier import ParaphraseClassifier

SAME_FROM, DIFFERENT_TO = 1.0, -1.0  # log-odds without a bound; between them is a close call

LookupOutcome: TypeAlias = Literal["hit", "empty", "wording"] | ReasonKind | Unfit
"""Of a semantic cache: a hit, no text in the scope, or why the nearest one was refused; `wording` has no named word."""


@dataclass(frozen=True, slots=True)
class ServedClassifier:
    """A classifier, and its bound on false hits if one was fitted to labeled pairs."""

    classifier: ParaphraseClassifier
    bound: FalseHitBound | None = None

    @property
    def same_from(self) -> float:
        """Log-odds from which a pair is the same."""
        return SAME_FROM if self.bound is None else self.bound.cut


Classifiers: TypeAlias = Mapping[str, ServedClassifier]
"""By the space of their encoder."""
