"""Hits with their documents, and as responses have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from semblance_client.vocabulary.collections import TEXT
from semblance_client.vocabulary.explanation import Explanation
from semblance_client.vocabulary.fields import Scalar
from semblance_client.vocabulary.matching import Facet, FacetValue
from semblance_client.vocabulary.search import (
    BoostPart,
    Highlight,
    Hit,
    HitSentences,
    Mark,
    Mode,
    Passage,
    SearchRequest,
)
from semblance_client.vocabulary.terms import Term, TermMatch

from semblance.models.alignment.highlight import Highlight as Snippet
from semblance.models.tokenization.folding import fold
from semblance.models.tokenization.terms import places
from semblance.service.filters import scalars
from semblance.service.ports import indexes
from semblance.service.ports.calibration import FittedCalibration
from semblance.service.ports.documents import Document, Metadata, PassageKey
from semblance.service.ports.searched_text import SearchedText, TextPart
from semblance.service.usecases.search.boosts import boosts_of
from semblance.service.usecases.search.hits import RankedTerms, codes_rank
from semblance.service.usecases.search.ordering import term_bonus

HIGHLIGHT_MEASURE = "rcmd1_content"  # each word of a query has one partner, whatever measure ranks the hits


class ScoredPassage(NamedTuple):
    """First and one-past-last code point of a passage in the searched text, score and number."""

    start: int
    end: int
    score: float
    number: int


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A document, its best passages, the score of the best, and why it matches."""

    document: Document
    score: float
    searched: SearchedText
    passages: Sequence[ScoredPassage]
    terms: RankedTerms | None = None
    boosts: Sequence[BoostPart] = ()
    explanation: Explanation | None = None
    highlight: Highlight | None = None
    sentences: HitSentences | None = None
    rerank_score: float | None = None

    @property
    def id(self) -> str:
        """The id of its document."""
        return self.document.id

    @property
    def best(self) -> PassageKey:
        """The best passage."""
        return PassageKey(self.document.id, self.passages[0].number)

    @property
    def combined(self) -> float:
        """The score, bonus and boosts, by which hits are ordered except by terms alone."""
        return self.score + (self.terms.bonus if self.terms else 0.0) + sum(each.bonus for each in self.boosts)

    @property
    def text(self) -> str:
        """Text of the best passage."""
        return self.searched.whole[self.passages[0].start : self.passages[0].end]

    @property
    def texts(self) -> dict[PassageKey, str]:
        """Texts of all its passages."""
        whole = self.searched.whole
        return {PassageKey(self.document.id, each.number): whole[each.start : each.end] for each in self.passages}

    @property
    def part(self) -> TextPart:
        """The part of the document that has the best passage."""
        return self.searched.part_at(self.passages[0].start)

    def boosted(self, weighted: float, request: SearchRequest) -> SearchHit:
        """The hit with what the boosts of a request add, and the weight of its text field."""
        boosts = boosts_of(self.document.metadata, request.boosts)
        if request.field_weights:
            boosts = [BoostPart(field=self.part.field or TEXT, bonus=weighted), *boosts]
        return replace(self, boosts=boosts)

    def explained(self, explanation: Explanation) -> SearchHit:
        """The hit with the explanation of its best passage, and the score of that."""
        best = self.passages[0]._replace(score=explanation.score)
        return replace(self, score=best.score, passages=[best, *self.passages[1:]], explanation=explanation)

    def highlighted(self, snippet: Snippet) -> SearchHit:
        """The hit with a highlight of its best passage; its places count in the document."""
        at, part = self.passages[0].start - self.part.start, self.part
        text = self.searched.whole[part.start : part.end]
        start, end = at + snippet.start, at + snippet.end
        shown = Highlight(
            text=text[start:end],
            start=start,
            end=end,
            cut_start=bool(text[:start].strip()),
            cut_end=bool(text[end:].strip()),
            marks=[
                Mark(start=at + mark.start, end=at + mark.end, contribution=mark.contribution, query=list(mark.query))
                for mark in snippet.marks
            ],
            rest=snippet.rest,
            special=snippet.special,
            score=snippet.score,
            measure=HIGHLIGHT_MEASURE,
        )
        return replace(self, highlight=shown)

    def response(
        self, request: SearchRequest, mode: Mode, codes: Sequence[str], calibration: FittedCalibration | None
    ) -> Hit:
        """The hit as a response has it, with its best passages if more than one was asked for."""
        document, best = self.document, self._passage(self.passages[0])
        return Hit(
            id=document.id,
            score=self.score,
            rerank_score=self.rerank_score,
            lexical=self.terms and self._term_match(self.terms, mode, codes),
            boosts=list(self.boosts),
            probability=calibration and calibration.probability_of(self.score),
            text=best.text,
            start=best.start,
            end=best.end,
            field=best.field,
            passages=[self._passage(each) for each in self.passages] if request.passages > 1 else [],
            metadata=_chosen(document.metadata, request.fields),
            truncated=document.truncated,
            highlight=self.highlight,
            sentences=self.sentences,
            explanation=self.explanation,
        )

    def _passage(self, passage: ScoredPassage) -> Passage:
        part = self.searched.part_at(passage.start)
        return Passage(
            text=self.searched.whole[passage.start : passage.end],
            start=passage.start - part.start,
            end=passage.end - part.start,
            field=part.field,
            score=passage.score,
        )

    def _term_match(self, ranked: RankedTerms, mode: Mode, codes: Sequence[str]) -> TermMatch:
        at = self.passages[0].start - self.part.start
        spans = places(self.text, [each.term for each in ranked.terms])
        return TermMatch(
            vector_rank=ranked.vector_rank,
            term_rank=ranked.term_rank,
            score=ranked.score,
            bonus=ranked.bonus,
            combined=None if mode == "lexical" else self.combined,
            codes=ranked.codes,
            code_fields=_fields_with(self.document, codes) if codes else [],
            terms=[
                Term(
                    term=term.term.text,
                    idf=term.idf,
                    tf=term.tf,
                    score=term.score,
                    bonus=term_bonus(term, ranked.score, ranked.bonus),
                    spans=[(at + start, at + end) for start, end in spans[term.term.text]],
                )
                for term in ranked.terms
            ],
        )


def facets_response(facets: Mapping[str, indexes.Facet]) -> list[Facet]:
    """Facets as responses have them."""
    return [
        Facet(
            field=field,
            values=[FacetValue(value=counted.value, count=counted.documents) for counted in facet.values],
            distinct=facet.distinct,
            ranges=list(facet.ranges),
        )
        for field, facet in facets.items()
    ]


def place_of(hit: SearchHit) -> tuple[int, float, str]:
    """Sorts hits by codes, score and id."""
    return codes_rank(hit.terms), -hit.combined, hit.id


def _chosen(metadata: Metadata, fields: Sequence[str] | None) -> dict[str, Any]:
    """The metadata of some fields; None is all."""
    return dict(metadata) if fields is None else {field: metadata[field] for field in fields if field in metadata}


def _fields_with(document: Document, codes: Sequence[str]) -> list[str]:
    """Metadata fields, or the id, with a code of a query as their value."""
    values: dict[str, list[Scalar]] = {field: scalars(value) for field, value in document.metadata.items()}
    values["id"] = [document.id, *values.get("id", ())]
    return [field for field, own in values.items() if any(fold(str(value)) in codes for value in own)]


def response_chars(hits: Sequence[Sequence[SearchHit]]) -> int:
    """Approximate number of characters of the response."""
    every = [hit for found in hits for hit in found]
    links = sum(len(hit.explanation.links) for hit in every if hit.explanation)
    texts = sum(
        (passage.end - passage.start + 100) * (1 + bool(hit.sentences)) for hit in every for passage in hit.passages
    )
    return 200 + texts + 200 * len(every) + 100 * links
