"""Explain the score of two texts by its links between words or tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.catalogue import explainable, similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import Explanation, LinkList, ReadText, tokens_of
from semblance.models.protocols import Encoder, Explainable
from semblance.models.text import Granularity, Role, Truncate
from semblance.models.tokenization.passages import Span
from semblance.service.errors import UnknownDocument, WriteConflict
from semblance.service.ports.calibration import Calibration, Calibrations
from semblance.service.ports.documents import CutDocuments, PassageKey
from semblance.service.ports.embedding import ServedModels
from semblance.service.replication.access import CollectionAccess
from semblance.service.request_warnings import RequestWarning
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed import InputText, TextEmbedder, TextEmbeddings

DEFAULT_LINKS = 200
RESCORED_PASSAGES = 3  # of a document, the nearest by vector; the best of them makes the score of a measure
DEFAULT_MEASURE = "rcmd_words"  # its parts are few strong links of words, whatever measure ranks a search


@dataclass(frozen=True, slots=True)
class WordLinks:
    """The strongest links between the words of two texts, up to the default number."""

    links: LinkList
    a: ReadText
    b: ReadText


def word_links(
    explainer: Explainable, a: TokenEmbeddings, b: TokenEmbeddings, truncate_a: Truncate, truncate_b: Truncate = "END"
) -> WordLinks:
    """Explain a pair or a hit; each text was truncated at its given end, if at all."""
    return strongest_links(explainer.explain(a, b).by_word(), a, b, truncate_a, truncate_b)


def strongest_links(
    explanation: Explanation, a: TokenEmbeddings, b: TokenEmbeddings, truncate_a: Truncate, truncate_b: Truncate
) -> WordLinks:
    """The strongest links of an explanation by words, with its texts."""
    links = explanation.link_list(DEFAULT_LINKS)
    return WordLinks(links, ReadText.of(tokens_of(a), truncate_a), ReadText.of(tokens_of(b), truncate_b))


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
        collections: Collections,
        models: ServedModels,
        access: CollectionAccess,
        texts: TextEmbedder,
        calibrations: Calibrations,
    ) -> None:
        self._collections = collections
        self._models = models
        self._access = access
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
            explanation=await asyncio.to_thread(compute),
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
        read = await self._access.read(lambda store: store.get_cut(ref.collection, [ref.id]))
        if ref.id not in read.documents:
            raise UnknownDocument(f"collection {ref.collection!r} has no document {ref.id!r}")
        encoder = await self._collections.encoder_of(read.collection)
        a = await self._embed(encoder, [params.a], "query", params.truncate)
        passages = await self._nearest_passages(read, ref, a.embeddings[0])
        texts = [InputText(text, "/id") for text in read.texts(passages).values()]
        if ref.id in read.spans:  # a passage is read whole, however long it is
            tokens = await self._texts.tokenize(encoder, texts, "document", limited=False)
            texts = [each._replace(tokens=own) for each, own in zip(texts, tokens, strict=True)]
        b = await self._embed(encoder, texts, "document", params.truncate)
        measure = similarity(params.measure)
        scores = await asyncio.to_thread(measure.score_many, a.embeddings[0], b.embeddings)
        best = int(np.argmax(scores))
        passage = read.span(passages[best]) if ref.id in read.spans else None
        return _Pair(encoder, a.embeddings[0], b.embeddings[best], [*a.warnings, *b.warnings[:1]], passage)

    async def _nearest_passages(self, read: CutDocuments, ref: DocumentRef, query: TokenEmbeddings) -> list[PassageKey]:
        """The passages of a document that a search would score."""
        if ref.id not in read.spans:
            return [PassageKey(ref.id, 0)]
        _, index = await self._access.current(ref.collection, None)
        known = index.version.number >= read.documents[ref.id].version
        vectors = (await self._access.search(lambda _: index.vectors([ref.id]))).get(ref.id)
        if not known or vectors is None or len(vectors) != len(read.spans[ref.id]):
            raise WriteConflict(f"document {ref.id!r} was rewritten during the request; retry")
        nearest = np.argsort(-(vectors @ query.pooled()), kind="stable")[:RESCORED_PASSAGES]
        return [PassageKey(ref.id, int(number)) for number in nearest]

    async def _embed(
        self, encoder: Encoder, texts: Sequence[InputText], role: Role, truncate: Truncate
    ) -> TextEmbeddings:
        return await self._texts.embed(encoder, texts, role, "tokens", truncate)
