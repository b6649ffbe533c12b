"""Explain the score of two texts by its links between words or tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semblance_client.vocabulary.explanation import (
    DEFAULT_LINKS,
    ExplainRequest,
    Granularity,
    PairExplanation,
    PassageSpan,
)
from semblance_client.vocabulary.responses import RequestWarning
from semblance_client.vocabulary.same import Verdict

from semblance.models.catalogue import explainable
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import Explanation, ReadText
from semblance.models.nearest_passages import explain_passages
from semblance.models.protocols import Encoder
from semblance.models.tokenization.glossary import NO_GLOSSARY, Glossary
from semblance.service.ports.calibration import Calibrations, FittedCalibration
from semblance.service.ports.embedding import ServedModels
from semblance.service.ports.paraphrases import Classifiers
from semblance.service.turns import in_thread
from semblance.service.usecases.explain.best_passages import BestPassages, DocumentQuery
from semblance.service.usecases.explain.word_links import read_texts, strongest_links
from semblance.service.usecases.paraphrases.verdicts import judge_of
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, Truncation

DEFAULT_MEASURE = "rcmd_words"  # its parts are few strong links of words, whatever measure ranks a search


@dataclass(frozen=True, slots=True)
class ExplainedPair:
    """An explanation, and its texts with the parts that the encoder read."""

    encoder: Encoder
    measure: str
    granularity: Granularity
    a: ReadText
    b: ReadText
    explanation: Explanation
    same: Verdict | None
    warnings: Sequence[RequestWarning]
    calibration: FittedCalibration | None
    passage: PassageSpan | None
    passages: int

    @property
    def probability(self) -> float | None:
        """Probability that people call the texts the same, if it is known and not withheld."""
        return self.calibration.of_pair(self.explanation.score, self.same) if self.calibration else None

    def response(self, max_links: int | None) -> PairExplanation:
        """The strongest links, as a response has them; None keeps the default number."""
        texts, kept = (self.a, self.b), DEFAULT_LINKS if max_links is None else max_links
        links = strongest_links(self.explanation, self.measure, texts, self.granularity, kept, self.same)
        return PairExplanation(
            **dict(links),
            model=self.encoder.name,
            space=self.encoder.space,
            probability=self.probability,
            calibration=self.calibration and self.calibration.summary,
            truncated=self.a.truncated or self.b.truncated,
            passage=self.passage,
            warnings=self.warnings,
        )


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two embedded texts; `passage` is the place of the second in a document that is cut."""

    encoder: Encoder
    a: TokenEmbeddings
    b: TokenEmbeddings
    warnings: Sequence[RequestWarning]
    passage: PassageSpan | None = None
    glossary: Glossary = NO_GLOSSARY

    @property
    def passages(self) -> int:
        """Number of passages in which long texts were read."""
        return len(self.a.passages) + len(self.b.passages)


class Explain:
    """Explains a score as `Compare` or `Search` computes it.

    Of a document that is cut, the passage with the highest score is explained. Two texts also have a verdict; a
    document answers a query, and need not say the same.
    """

    def __init__(
        self,
        models: ServedModels,
        best_passages: BestPassages,
        texts: TextEmbedder,
        calibrations: Calibrations,
        classifiers: Classifiers,
    ) -> None:
        self._models = models
        self._best_passages = best_passages
        self._texts = texts
        self._calibrations = calibrations
        self._classifiers = classifiers

    async def explain(self, request: ExplainRequest) -> ExplainedPair:
        """Explain one pair.

        Raises:
            UnknownMeasure, NotExplainable, UnknownModel, UnknownCollection, UnknownDocument, SpaceMismatch,
            InvalidRequest, WriteConflict: see the errors of models and service.
        """
        measure = request.measure or DEFAULT_MEASURE
        explainer = explainable(measure)
        pair = await (
            self._pair_of_texts(request) if request.id is None else self._pair_with_document(request, measure)
        )

        judge = judge_of(self._classifiers, pair.encoder) if request.id is None else None

        def compute() -> tuple[Explanation, Verdict | None]:
            explanation = explain_passages(explainer, pair.a, pair.b, pair.glossary)
            grouped = explanation.by_word() if request.granularity == "word" else explanation
            kept = grouped if request.max_links is None else grouped.strongest(request.max_links)
            return kept, judge and judge(pair.a, pair.b)

        a, b = read_texts(pair.a, pair.b)
        explanation, same = await in_thread(compute)
        return ExplainedPair(
            encoder=pair.encoder,
            measure=measure,
            granularity=request.granularity,
            a=a,
            b=b,
            explanation=explanation,
            same=same,
            warnings=pair.warnings,
            calibration=self._calibrations.get((pair.encoder.space, measure)),
            passage=pair.passage,
            passages=pair.passages,
        )

    async def _pair_of_texts(self, request: ExplainRequest) -> _Pair:
        encoder = await self._models.get(request.model)
        texts = InputText(request.a, "/a"), InputText(request.b or "", "/b")
        a, b = [
            await self._texts.embed(encoder, [text], "query", "tokens", Truncation(request.truncate)) for text in texts
        ]
        return _Pair(encoder, a.embeddings[0], b.embeddings[0], [*a.warnings, *b.warnings])

    async def _pair_with_document(self, request: ExplainRequest, measure: str) -> _Pair:
        query = InputText(request.a, "/a")
        documents = {request.id or "": "/id"}
        found = await self._best_passages(
            DocumentQuery(query, request.collection, documents, measure, request.truncate)
        )
        [best] = found.passages
        warnings = [*found.warnings, *best.warnings]
        return _Pair(found.encoder, found.query, best.tokens, warnings, best.place, found.glossary)
