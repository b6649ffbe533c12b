"""The verdict on two texts, as the API has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from semblance_client.vocabulary.same import Unfit, Verdict

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import tokens_of
from semblance.models.paraphrases.classifier import Classified, TextLosses
from semblance.models.paraphrases.reasons import reasons
from semblance.models.paraphrases.words import TextWords, words_of_pairs
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
    return verdicts(served, [(a, b)])[0]


def verdicts(served: ServedClassifier, pairs: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]]) -> list[Verdict]:
    """Verdicts on pairs, each as by `verdict`: all are read at once, in less time."""
    read = [*_read(served, pairs)]
    classified = iter(served.classifier.classify_all([each for each in read if not isinstance(each, Verdict)]))
    return [each if isinstance(each, Verdict) else _judged(served, next(classified)) for each in read]


def _read(
    served: ServedClassifier, pairs: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]]
) -> Iterator[Verdict | tuple[TextWords, TextWords]]:
    """The words of each pair to classify, or the verdict on another one."""
    base, languages = float(served.classifier.tensors["base"]), served.classifier.languages
    known = [_by_embeddings(base, *pair) for pair in pairs]
    words = iter(words_of_pairs([pair for pair, each in zip(pairs, known, strict=True) if each is None], languages))
    for each in known:
        if each is not None:
            yield each
            continue
        left, right = next(words)
        unfit = _unfit_words(left, languages) or _unfit_words(right, languages)
        yield (left, right) if unfit is None else _unsure(base, unfit)


def _by_embeddings(base: float, a: TokenEmbeddings, b: TokenEmbeddings) -> Verdict | None:
    """The verdict on a pair whose words need not be read."""
    if tokens_of(a).text == tokens_of(b).text:
        return Verdict(verdict="same", log_odds=base, base=base, rest=0.0, reasons=[])
    unfit = _unfit_embeddings(a) or _unfit_embeddings(b)
    return None if unfit is None else _unsure(base, unfit)


def _unsure(base: float, unfit: Unfit) -> Verdict:
    return Verdict(verdict="unsure", unsure=unfit, log_odds=None, base=base, rest=0.0, reasons=[])


def _judged(served: ServedClassifier, pair: Classified) -> Verdict:
    found = reasons(pair)
    close = DIFFERENT_TO < pair.log_odds < served.same_from
    # validated as a whole, in half the time of its parts
    return Verdict.model_validate({
        "verdict": "unsure" if close else "different" if pair.log_odds <= DIFFERENT_TO else "same",
        "unsure": "close_call" if close else None,
        "log_odds": pair.log_odds,
        "base": pair.base,
        "rest": pair.log_odds - pair.base - sum(reason.log_odds for reason in found),
        "reasons": [
            {
                "kind": reason.kind,
                "log_odds": reason.log_odds,
                "a": _places(pair.left, reason.a),
                "b": _places(pair.right, reason.b),
            }
            for reason in found
        ],
    })  # fmt: skip


def _unfit_embeddings(embeddings: TokenEmbeddings) -> Unfit | None:
    text = tokens_of(embeddings)
    if embeddings.passages or text.truncated:
        return "long_text"
    return "unread_text" if text.unread >= UNREAD_SHARE else None


def _unfit_words(words: TextWords, languages: Sequence[str]) -> Unfit | None:
    if not len(words):
        return "no_words"
    return None if words.language in languages else "language"


def _places(losses: TextLosses, spans: Sequence[Span]) -> list[dict[str, Any]]:
    text = losses.words.units.text
    return [{"start": start, "end": end, "text": text[start:end]} for start, end in spans]
