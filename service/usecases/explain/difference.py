"""Explain why one document stands above another: the parts of the difference of two scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from semblance_client.vocabulary import difference as vocabulary
from semblance_client.vocabulary.difference import (
    ComparedDocument,
    DifferenceMode,
    DifferenceRequest,
    ScoreDifference,
)
from semblance_client.vocabulary.explanation import PassageSpan
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.catalogue import explainable
from semblance.models.explanation import (
    DifferencePart,
    Explanation,
    Partner,
    ReadText,
    Share,
    difference_parts,
    tokens_of,
)
from semblance.models.nearest_passages import explain_passages
from semblance.models.protocols import Encoder
from semblance.models.tokenization.terms import places
from semblance.service.ports.documents import Version
from semblance.service.turns import in_thread
from semblance.service.usecases.explain.best_passages import BestPassage, BestPassages, DocumentQuery, QueriedDocuments
from semblance.service.usecases.explain.explain import DEFAULT_MEASURE
from semblance.service.usecases.explain.word_links import side
from semblance.service.usecases.search.ordering import bonus_of, term_bonus
from semblance.service.usecases.text_embedder import InputText


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedDocument:
    """A document with its best passage, the explanation of it by words, and the bonus of terms.

    Attributes:
        id: of the document.
        place: of the passage in the document; None for a document that is not cut.
        text: of the passage.
        explanation: of the score.
        bonus: that terms add to the score; 0 unless they count.
    """

    id: str
    place: PassageSpan | None
    text: ReadText
    explanation: Explanation
    bonus: float

    @property
    def combined(self) -> float:
        """Score and bonus, by which hits are ordered."""
        return self.explanation.score + self.bonus

    def response(self) -> ComparedDocument:
        """The document as a response has it."""
        return ComparedDocument(
            **dict(side(self.text, self.explanation.right)),
            id=self.id,
            passage=self.place,
            score=self.explanation.score,
            bonus=self.bonus,
            combined=self.combined,
        )

    def share(self, share: Share) -> vocabulary.Share:
        """A part's share of the score, as a response has it."""
        partners = [
            vocabulary.Partner(
                text=self.text.text[partner.start : partner.end],
                start=partner.start,
                end=partner.end,
                similarity=partner.similarity,
                contribution=partner.contribution,
            )
            for partner in share.partners
        ]
        return vocabulary.Share(contribution=share.contribution, partners=partners)


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedDifference:
    """The difference of two documents' scores for a query.

    Law: the differences of `parts` sum to `difference`, within 1e-9.

    Attributes:
        parts: words, special tokens, the rest of the scores and terms; the largest difference first.
    """

    encoder: Encoder
    measure: str
    mode: DifferenceMode
    version: Version
    query: ReadText
    a: ExplainedDocument
    b: ExplainedDocument
    parts: Sequence[DifferencePart]
    warnings: Sequence[RequestWarning]

    @property
    def difference(self) -> float:
        """The distance of a above b; negative if it stands below."""
        return self.a.combined - self.b.combined

    def response(self) -> ScoreDifference:
        """The difference as a response has it."""
        return ScoreDifference(
            query=side(self.query, self.a.explanation.left),
            a=self.a.response(),
            b=self.b.response(),
            difference=self.difference,
            parts=[
                vocabulary.DifferencePart(
                    kind=part.kind,
                    text=part.name,
                    start=part.unit and part.unit.start,
                    end=part.unit and part.unit.end,
                    a=self.a.share(part.a),
                    b=self.b.share(part.b),
                    difference=part.difference,
                )
                for part in self.parts
            ],
            measure=self.measure,
            mode=self.mode,
            model=self.encoder.name,
            space=self.encoder.space,
            version=str(self.version),
            warnings=self.warnings,
        )


class ExplainDifference:
    """Explains the difference of the scores of two documents, each by its best passage."""

    def __init__(self, best_passages: BestPassages) -> None:
        self._best_passages = best_passages

    async def explain(self, request: DifferenceRequest) -> ExplainedDifference:
        """Explain the difference for one query.

        Raises:
            UnknownMeasure, NotExplainable, UnknownCollection, UnknownDocument, SpaceMismatch, InvalidRequest,
            WriteConflict: see the errors of models and service.
        """
        measure = request.measure or DEFAULT_MEASURE
        explainer = explainable(measure)
        found = await self._best_passages(
            DocumentQuery(
                text=InputText(request.query, "/query"),
                collection=request.collection,
                documents={request.a: "/a", request.b: "/b"},
                measure=measure,
                truncate=request.truncate,
                by_terms=request.mode == "hybrid",
            )
        )

        def compare() -> ExplainedDifference:
            explanations = [
                explain_passages(explainer, found.query, passage.tokens, found.glossary).by_word()
                for passage in found.passages
            ]
            return _difference(request, measure, found, explanations)

        return await in_thread(compare)


def _difference(
    request: DifferenceRequest, measure: str, found: QueriedDocuments, explanations: Sequence[Explanation]
) -> ExplainedDifference:
    a, b = (_explained(passage, explanation) for passage, explanation in zip(found.passages, explanations, strict=True))
    parts = [*difference_parts(*explanations), *_term_parts(request, found)]
    return ExplainedDifference(
        encoder=found.encoder,
        measure=measure,
        mode=request.mode,
        version=found.version,
        query=ReadText.of(tokens_of(found.query)),
        a=a,
        b=b,
        parts=sorted(parts, key=lambda part: -abs(part.difference)),
        warnings=[*found.warnings, *(warning for each in found.passages for warning in each.warnings)],
    )


def _explained(passage: BestPassage, explanation: Explanation) -> ExplainedDocument:
    read = ReadText.of(tokens_of(passage.tokens))
    return ExplainedDocument(passage.id, passage.place, read, explanation, bonus_of(passage.bm25))


def _term_parts(request: DifferenceRequest, found: QueriedDocuments) -> list[DifferencePart]:
    """A part for each term of the query, if terms count: its shares of both bonuses."""
    if request.mode == "vector":
        return []
    shares = [_term_shares(each) for each in found.passages]
    none = Share(0.0)
    return [
        DifferencePart("term", None, term, *(own.get(term, none) for own in shares))
        for term in (each.text for each in found.glossary.query_terms(request.query))
    ]


def _term_shares(passage: BestPassage) -> Mapping[str, Share]:
    """The share of each term in the bonus of a passage, with its places."""
    spans = places(tokens_of(passage.tokens).text, [each.term for each in passage.terms])
    score = passage.bm25
    bonus = bonus_of(score)
    return {
        each.term.text: Share(term_bonus(each, score, bonus), tuple(starmap(Partner, spans[each.term.text])))
        for each in passage.terms
    }
