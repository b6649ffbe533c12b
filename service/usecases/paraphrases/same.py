"""Verdicts on pairs of texts: the same, different or unsure, with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from semblance_client.vocabulary.responses import Usage
from semblance_client.vocabulary.same import Place, Reason, SameRequest, Verdict, Verdicts

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import tokens_of
from semblance.models.paraphrases.classifier import ParaphraseClassifier
from semblance.models.paraphrases.reasons import reasons
from semblance.models.paraphrases.words import LANGUAGE, TextWords
from semblance.models.tokenization.passages import Span
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.embedding import ServedModels
from semblance.service.threads import until_left
from semblance.service.turns import in_thread
from semblance.service.usecases.request_fields import RequestLimits, require_at_most
from semblance.service.usecases.text_embedder import UNREAD_SHARE, InputText, TextEmbedder, Truncation

SAME_FROM, DIFFERENT_TO = 1.0, -1.0  # log-odds; between them is a close call
READ = Truncation("PASSAGES")  # so that a long text is known as such

Unfit = Literal["language", "long_text", "no_words", "unread_text"]


class Same:
    """Says of pairs whether they say the same.

    Args:
        classifiers: by the space of their encoder.
    """

    def __init__(
        self,
        models: ServedModels,
        texts: TextEmbedder,
        classifiers: Mapping[str, ParaphraseClassifier],
        limits: RequestLimits,
    ) -> None:
        self._models = models
        self._texts = texts
        self._classifiers = classifiers
        self._limits = limits

    async def same(self, request: SameRequest) -> Verdicts:
        """Classify the pairs of a request.

        Raises:
            UnknownModel, InvalidRequest, TooManyTokens: see the errors of models and service.
        """
        pairs = request.pairs
        require_at_most("/pairs", len(pairs), self._limits.max_texts, "pairs")
        encoder = await self._models.get(request.model)
        classifier = self._classifiers.get(encoder.space)
        if classifier is None:
            raise InvalidRequest([_no_classifier(encoder.name)])
        inputs = [InputText(pair.a, f"/pairs/{i}/a") for i, pair in enumerate(pairs)]
        inputs += [InputText(pair.b, f"/pairs/{i}/b") for i, pair in enumerate(pairs)]
        texts = await self._texts.embed(encoder, inputs, "query", "tokens", READ)
        sides = list(zip(texts.embeddings[: len(pairs)], texts.embeddings[len(pairs) :], strict=True))

        def judge() -> list[Verdict]:
            return [verdict(classifier, a, b) for a, b in until_left(sides)]

        return Verdicts(
            verdicts=await in_thread(judge),
            model=encoder.name,
            space=encoder.space,
            warnings=list(texts.warnings),
            usage=Usage(tokens=texts.tokens, passages=texts.passages),
        )


def verdict(classifier: ParaphraseClassifier, a: TokenEmbeddings, b: TokenEmbeddings) -> Verdict:
    """The verdict on a pair.

    Texts of the same characters are the same, whatever their language.
    """
    base = float(classifier.tensors["base"])
    if tokens_of(a).text == tokens_of(b).text:
        return Verdict(verdict="same", log_odds=base, base=base, rest=0.0, reasons=[])
    unfit = _unfit_embeddings(a) or _unfit_embeddings(b)
    if unfit is None:
        left, right = TextWords.of(a), TextWords.of(b)
        unfit = _unfit_words(left) or _unfit_words(right)
    if unfit is not None:
        return Verdict(verdict="unsure", unsure=unfit, log_odds=None, base=base, rest=0.0, reasons=[])
    pair = classifier.classify(left, right)
    found = reasons(pair)
    close = DIFFERENT_TO < pair.log_odds < SAME_FROM
    return Verdict(
        verdict="unsure" if close else "same" if pair.log_odds > 0 else "different",
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
    if embeddings.passages or tokens_of(embeddings).truncated:
        return "long_text"
    return "unread_text" if tokens_of(embeddings).unread >= UNREAD_SHARE else None


def _unfit_words(words: TextWords) -> Unfit | None:
    if not len(words):
        return "no_words"
    return None if words.language == LANGUAGE else "language"


def _places(text: str, spans: Sequence[Span]) -> Iterator[Place]:
    for start, end in spans:
        yield Place(start=start, end=end, text=text[start:end])


def _no_classifier(model: str) -> Problem:
    detail = f"the model {model} has no paraphrase classifier; send the request with the model minilm-graded"
    return Problem("/model", "no_classifier", detail)
