"""Explain the score of two texts by its links between words or tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from semblance.models.catalogue import explainable
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import Explanation, LinkList, ReadText, tokens_of
from semblance.models.protocols import Encoder, Explainable
from semblance.models.text import Granularity, Role, Truncate
from semblance.service.errors import UnknownDocument
from semblance.service.ports.calibration import Calibration, Calibrations
from semblance.service.ports.embedding import ServedModels
from semblance.service.replication.access import CollectionAccess
from semblance.service.request_warnings import RequestWarning
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed import InputText, TextEmbedder

DEFAULT_LINKS = 200
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


class Explain:
    """Explains a score as `Compare` or `Search` computes it."""

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
            InvalidRequest: see the errors of models and service.
        """
        encoder, b, role = await self._second(params)
        explainer = explainable(params.measure)
        left = await self._texts.embed(encoder, [params.a], "query", "tokens", params.truncate)
        right = await self._texts.embed(encoder, [b], role, "tokens", params.truncate)

        def compute() -> Explanation:
            explanation = explainer.explain(left.embeddings[0], right.embeddings[0])
            grouped = explanation.by_word() if params.granularity == "word" else explanation
            return grouped if params.max_links is None else grouped.strongest(params.max_links)

        return PairExplanation(
            encoder=encoder,
            measure=params.measure,
            a=ReadText.of(tokens_of(left.embeddings[0]), params.truncate),
            b=ReadText.of(tokens_of(right.embeddings[0]), params.truncate),
            explanation=await asyncio.to_thread(compute),
            warnings=[*left.warnings, *right.warnings],
            calibration=self._calibrations.get((encoder.space, params.measure)),
        )

    async def _second(self, params: ExplainParams) -> tuple[Encoder, InputText, Role]:
        """Resolve the second text, with its encoder and role."""
        if isinstance(params.b, InputText):
            return await self._models.get(params.model), params.b, "query"
        ref = params.b
        collection = await self._access.read(lambda store: store.collection(ref.collection))
        documents = await self._access.read(lambda store: store.get(ref.collection, [ref.id]))
        if ref.id not in documents:
            raise UnknownDocument(f"collection {ref.collection!r} has no document {ref.id!r}")
        encoder = await self._collections.encoder_of(collection)
        return encoder, InputText(documents[ref.id].text, "/id"), "document"
