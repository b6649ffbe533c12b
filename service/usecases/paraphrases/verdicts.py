"""The verdict on two texts, as the API has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from semblance_client.vocabulary.same import Place, Reason, Unfit, Verdict

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import tokens_of
from semblance.models.paraphrases.reasons import reasons
from semblance.models.paraphrases.words import TextWords, words_of_pair
from semblance.models.protocols import Encoder
from semblance.models.tokenization.passages import Span
from semblance.service.ports.paraphrases import DIFFERENT_TO, Classifiers, ServedClassifier
from semblance.service.usecases.text_embedder import UNREAD_SHARE, Truncation

READ = Truncation("PASSAGES")  # so that a long text is known as such

Judge: TypeAlias = Callable[[TokenEmbeddings, TokenEmbeddings], Verdict]
"""Gives the verdict on a pair of token embeddings, as `POST /same`."""


def judge_of(classifiers: Classifiers, encoder: Encoder) -> Judge | None:
    """The judge of pairs of a model; None if it has no classifier."""
    served = classifiers.get(encoder.space)
    return None if served is None else partial(verdict, served)


def verdict(served: ServedClassifier, a: TokenEmbeddings, b: TokenEmbeddings) -> Verdict:
    """The verdict on a pair.

    Texts of the same characters are the same, whatever their language.
    """
    base = float(served.classifier.tensors["base"])
    if tokens_of(a).text == tokens_of(b).text:
        return Verdict(verdict="same", log_odds=base, base=base, rest=0.0, reasons=[])
    unfit = _unfit_embeddings(a) or _unfit_embeddings(b)
    if unfit is None:
        languages = served.classifier.languages
        left, right = words_of_pair(a, b, languages)
        unfit = _unfit_words(left, languages) or _unfit_words(right, languages)
    if unfit is not None:
        return Verdict(verdict="unsure", unsure=unfit, log_odds=None, base=base, rest=0.0, reasons=[])
    pair = served.classifier.classify(left, right)
    found = reasons(pair)
    close = DIFFERENT_TO < pair.log_odds < served.same_from
    return Verdict(
        verdict="unsure" if close else "different" if pair.log_odds <= DIFFERENT_TO else "same",
        unsure="close_call" if close else None,
        log_odds=pair.log_odds,
        base=base,
        rest=pair.log_odds - base - sum(reason.log_odds for reason in found),
        reasons=[
            Reason(
                kind=reason.kind,
                log_odds=reason.log_odds,
                a=list(_places(tokens_of(a).text, reason.a)),
                b=list(_places(tokens_of(b).text, reason.b)),
            )
            for reason in found
        ],
    )


def _unfit_embeddings(embeddings: TokenEmbeddings) -> Unfit | None:
    text = tokens_of(embeddings)
    if embeddings.passages or text.truncated:
        return "long_text"
    return "unread_text" if text.unread >= UNREAD_SHARE else None


def _unfit_words(words: TextWords, languages: Sequence[str]) -> Unfit | None:
    if not len(words):
        return "no_words"
    return None if words.language in languages else "language"


def _places(text: str, spans: Sequence[Span]) -> Iterator[Place]:
    for start, end in spans:
        yield Place(start=start, end=end, text=text[start:end])
