"""Explain the score of two texts by its links between words or tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semblance.models.catalogue import explainable
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import Explanation, ReadText, tokens_of
from semblance.models.protocols import Encoder
from semblance.models.text import Granularity, Role, Truncate
from semblance.models.tokenization.passages import Span
from semblance.service.ports.calibration import Calibration, Calibrations
from semblance.service.ports.embedding import ServedModels
from semblance.service.request_warnings import RequestWarning
from semblance.service.turns import in_thread
from semblance.service.usecases.embed import InputText, TextEmbedder, TextEmbeddings
from semblance.service.usecases.explain.best_passages import BestPassages, DocumentQuery

DEFAULT_MEASURE = "rcmd_words"  # its parts are few strong links of words, whatever measure ranks a search


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """A stored document, in place of a text."""

    id: str
    collection: str


@dataclass(frozen=True, slots=True)
class ExplainParams:
    """Two texts to explain. `max_links` keeps only the strongest links; None keeps all."""

    a: InputText
    b: InputText | DocumentRef
    measure: str
    model: str | None
    granularity: Granularity
    max_links: int | None
    truncate: Truncate = "END"


@dataclass(frozen=True, slots=True)
class PairExplanation:
    """An explanation, and its texts with the parts that the encoder read."""

    encoder: Encoder
    measure: str
    a: ReadText
    b: ReadText
    explanation: Explanation
    warnings: Sequence[RequestWarning]
    calibration: Calibration | None
    passage: Span | None


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two embedded texts; `passage` is the place of the second in a document that is cut."""

    encoder: Encoder
    a: TokenEmbeddings
    b: TokenEmbeddings
    warnings: Sequence[RequestWarning]
    passage: Span | None = None


class Explain:
    """Explains a score as `Compare` or `Search` computes it.

    Of a document that is cut, the passage with the highest score is explained.
    """

    def __init__(
        self,
        models: ServedModels,
        best_passages: BestPassages,
        texts: TextEmbedder,
        calibrations: Calibrations,
    ) -> None:
        self._models = models
        self._best_passages = best_passages
        self._texts = texts
        self._calibrations = calibrations

    async def __call__(self, params: ExplainParams) -> PairExplanation:
        """Explain one pair.

        Raises:
            UnknownMeasure, NotExplainable, UnknownModel, UnknownCollection, UnknownDocument, SpaceMismatch,
            InvalidRequest, WriteConflict: see the errors of models and service.
        """
        explainer = explainable(params.measure)
        if isinstance(params.b, InputText):
            pair = await self._pair_of_texts(params, params.b)
        else:
            pair = await self._pair_with_document(params, params.b)

        def compute() -> Explanation:
            explanation = explainer.explain(pair.a, pair.b)
            grouped = explanation.by_word() if params.granularity == "word" else explanation
            return grouped if params.max_links is None else grouped.strongest(params.max_links)

        return PairExplanation(
            encoder=pair.encoder,
            measure=params.measure,
            a=ReadText.of(tokens_of(pair.a), params.truncate),
            b=ReadText.of(tokens_of(pair.b), params.truncate),
            explanation=await in_thread(compute),
            warnings=pair.warnings,
            calibration=self._calibrations.get((pair.encoder.space, params.measure)),
            passage=pair.passage,
        )

    async def _pair_of_texts(self, params: ExplainParams, b: InputText) -> _Pair:
        encoder = await self._models.get(params.model)
        left = await self._embed(encoder, [params.a], "query", params.truncate)
        right = await self._embed(encoder, [b], "query", params.truncate)
        return _Pair(encoder, left.embeddings[0], right.embeddings[0], [*left.warnings, *right.warnings])

    async def _pair_with_document(self, params: ExplainParams, ref: DocumentRef) -> _Pair:
        found = await self._best_passages(
            DocumentQuery(params.a, ref.collection, {ref.id: "/id"}, params.measure, params.truncate)
        )
        [best] = found.passages
        return _Pair(found.encoder, found.query, best.tokens, [*found.warnings, *best.warnings], best.span)

    async def _embed(
        self, encoder: Encoder, texts: Sequence[InputText], role: Role, truncate: Truncate
    ) -> TextEmbeddings:
        return await self._texts.embed(encoder, texts, role, "tokens", truncate)
