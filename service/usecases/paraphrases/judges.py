"""Verdicts beside the scores and explanations of pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from semblance_client.vocabulary.same import Verdict

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.paraphrases.classifier import ParaphraseClassifier
from semblance.models.protocols import Encoder
from semblance.service.usecases.paraphrases.same import verdict

Judge: TypeAlias = Callable[[TokenEmbeddings, TokenEmbeddings], Verdict]
"""Gives the verdict on a pair of token embeddings, as `POST /same`."""


def judge_of(classifiers: Mapping[str, ParaphraseClassifier], encoder: Encoder) -> Judge | None:
    """The judge of pairs of a model; None if it has no classifier."""
    classifier = classifiers.get(encoder.space)
    return None if classifier is None else partial(verdict, classifier)
