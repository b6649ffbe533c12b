"""Answers of the calls."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from semblance_client.answer import Answer, Calibration, RequestWarning, TokenUsage, Usage
from semblance_client.explanation import Explanation


class Similarities(Answer):
    """Scores of pairs, in their order.

    Attributes:
        scores: higher is more alike.
        probabilities: that people call each pair the same, if the measure has a calibration.
        truncated: whether a text of each pair is longer than the model reads.
        explanations: one for each pair, if they were asked for.
        space: digest of what decides what a vector means; scores are comparable within one.
    """

    scores: list[float]
    probabilities: list[float] | None = None
    calibration: Calibration | None = None
    measure: str
    model: str
    space: str
    truncated: list[bool]
    explanations: list[Explanation] | None = None
    warnings: list[RequestWarning]
    usage: Usage


class SimilarityMatrix(Answer):
    """Scores of each left with each right text: one row for each left text."""

    scores: list[list[float]]
    probabilities: list[list[float]] | None = None
    calibration: Calibration | None = None
    measure: str
    model: str
    space: str
    truncated: list[bool]
    warnings: list[RequestWarning]
    usage: Usage


class Passage(Answer):
    """A passage of a document; `start` and `end` count code points."""

    text: str
    start: int
    end: int
    score: float


class Term(Answer):
    """A term of the query that a passage has.

    Attributes:
        idf: how rare it is.
        tf: how many times the passage has it.
        score: its part of the score by BM25.
        bonus: its part of the bonus.
        spans: its places in the document, in code points.
    """

    term: str
    idf: float
    tf: int
    score: float
    bonus: float
    spans: list[tuple[int, int]]


class TermMatch(Answer):
    """How the best passage of a document matches a query by its terms.

    Attributes:
        vector_rank: among the documents nearest by vector, from 1; None if it is not among them.
        term_rank: the same by terms.
        score: by BM25.
        bonus: what the terms add to the score of the hit.
        combined: both together, which order the hits; None in mode lexical.
        terms: their scores and bonuses sum to those above.
    """

    vector_rank: int | None
    term_rank: int | None
    score: float
    bonus: float
    combined: float | None
    terms: list[Term]


class Mark(Answer):
    """Words of a document in code points, and the words of the query that they match."""

    start: int
    end: int
    contribution: float
    query: list[str]


class Highlight(Answer):
    """The snippet of a hit: the marks' contributions, `rest` and `special` sum to `score`.

    Attributes:
        start: first code point of the snippet in the document.
        end: one past its last code point.
        cut_start: whether the document has text before it.
        cut_end: whether the document has text after it.
        rest: contribution of all other words of the passage.
        special: contribution of special tokens.
        score: of the passage, by `measure`.
    """

    text: str
    start: int
    end: int
    cut_start: bool
    cut_end: bool
    marks: list[Mark]
    rest: float
    special: float
    score: float
    measure: str


class Hit(Answer):
    """A document found by a search.

    Attributes:
        score: that of its best passage, by the measure.
        lexical: how it matches by terms, if the mode of the search takes them into account.
        text: the best passage, which is all of a document that is not cut.
        start: first code point of that passage in the document.
        end: one past its last code point.
        passages: the best passages, if more than one was asked for.
    """

    id: str
    score: float
    lexical: TermMatch | None = None
    probability: float | None = None
    text: str
    start: int
    end: int
    passages: list[Passage]
    metadata: dict[str, Any]
    truncated: bool
    highlight: Highlight | None = None
    explanation: Explanation | None = None


class FacetValue(Answer):
    """A value of a metadata field, and the number of documents that have it."""

    value: str | int | float | bool | None
    count: int


class Facet(Answer):
    """The most frequent values of a metadata field, and the number of different ones."""

    field: str
    values: list[FacetValue]
    distinct: int


class Facets(Answer):
    """Number of documents, and facets over them.

    Attributes:
        exact: False if a search has counted only those that it scored.
    """

    count: int
    facets: list[Facet]
    exact: bool = True

    def values(self, field: str) -> dict[str | int | float | bool | None, int]:
        """Number of documents by value of a field that was asked for."""
        [facet] = [each for each in self.facets if each.field == field]
        return {each.value: each.count for each in facet.values}


class Hits(Answer):
    """Results of one query, best first; facets if they were asked for."""

    hits: list[Hit]
    facets: Facets | None = None


class SearchResults(Answer):
    """Results in the order of the queries.

    Attributes:
        results: one for each query.
        scored_from: where the vectors behind the scores come from: `index`, `token_codes` or `encoder`.
        version: version of the collection that was searched.
        truncated: whether each query is longer than the model reads.
    """

    results: list[Hits]
    calibration: Calibration | None = None
    measure: str
    model: str
    space: str
    scored_from: str
    version: str
    truncated: list[bool]
    warnings: list[RequestWarning]
    usage: Usage

    @property
    def hits(self) -> list[Hit]:
        """The hits of the only query. Raises ValueError if there were several."""
        if len(self.results) != 1:
            raise ValueError(f"there are results of {len(self.results)} queries: read results[i].hits")
        return self.results[0].hits


class Embedding(Answer):
    """The vector of one text, at unit length."""

    index: int
    embedding: list[float]


class Embeddings(Answer):
    """Vectors in the order of the texts.

    Attributes:
        data: one for each text.
        space: vectors are comparable only within the same space.
        truncated: whether each text is longer than the model reads.
    """

    data: list[Embedding]
    model: str
    space: str
    truncated: list[bool]
    warnings: list[RequestWarning]
    usage: TokenUsage

    @property
    def vectors(self) -> list[list[float]]:
        """The vectors alone."""
        return [each.embedding for each in self.data]


class Span(Answer):
    """A part of a document, from `start` to before `end`, and its share of `raw_score`."""

    start: int
    end: int
    score: float


class RankedText(Answer):
    """The text of a ranked document."""

    text: str


class RankedDocument(Answer):
    """A document of a rerank, by its position in the request.

    Attributes:
        index: position in the request.
        relevance_score: `raw_score` in [0, 1]: its probability, or mapped by the bounds of the measure.
        probability: that people call query and document the same, if the measure has a calibration.
        raw_score: score of the measure; None for a document without text.
        document: its text.
        relevant_spans: the parts that match the query, best first, if they were asked for and there are any.
        rest: what the spans lack of `raw_score`.
        explanation: links between words, if they were asked for.
    """

    index: int
    relevance_score: float
    probability: float | None = None
    raw_score: float | None = None
    document: RankedText
    relevant_spans: list[Span] | None = None
    rest: float | None = None
    explanation: Explanation | None = None


class RankingMeta(Answer):
    """Warnings about the documents of a rerank."""

    warnings: list[str] = Field(default_factory=list)


class Ranking(Answer):
    """Documents, best first."""

    results: list[RankedDocument]
    calibration: Calibration | None = None
    measure: str
    model: str
    space: str
    meta: RankingMeta
    usage: TokenUsage


class Collection(Answer):
    """A collection and its size.

    Attributes:
        count: number of documents.
        truncated: number of documents whose text is longer than the model reads.
        version: state of the collection; it changes with every write.
        passages: how documents are cut, and the number of passages; None where they are not.
        token_error: largest error of a score from token codes; None without them.
        reembedding: the model under which it is being re-embedded, and how many documents are left.
    """

    name: str
    count: int
    truncated: int
    version: str
    model: str
    space: str
    dim: int
    precision: str | None = None
    measure: str
    index: str
    tokens: str
    passages: dict[str, int] | None
    bytes_per_document: float
    token_error: float | None
    reembedding: dict[str, Any] | None


class CollectionList(Answer):
    """All collections, by name."""

    collections: list[Collection]


class Document(Answer):
    """A document to store."""

    id: str
    text: str
    metadata: dict[str, Any] = Field(default_factory=dict)


class StoredDocument(Document):
    """A document as it is stored; `truncated` if its text is longer than the model reads."""

    truncated: bool


class ReadDocument(StoredDocument):
    """A stored document, and the version of its collection when it was read.

    `version` may be sent as `if_version` with a change and as `min_version` with a search.
    """

    version: str


class DocumentPage(Answer):
    """A page of documents, by id; `cursor` asks for the next, None on the last."""

    documents: list[StoredDocument]
    cursor: str | None


class SimilarDocument(Answer):
    """A document that was stored, and a similar one of the collection, with their cosine."""

    id: str
    like: str
    score: float


class Stored(Answer):
    """Number of stored documents, and the version of the collection that has them.

    `truncated` has the ids of documents whose text is longer than the model reads, `similar` the documents that were
    there already, if asked for.
    """

    upserted: int
    version: str
    truncated: list[str]
    similar: list[SimilarDocument] | None = None
    warnings: list[RequestWarning]
    usage: Usage


class Changed(Answer):
    """The outcome of `change_metadata`.

    Attributes:
        changed: number of documents.
        version: the collection's version with their metadata.
    """

    changed: int
    version: str


class Deleted(Answer):
    """The version of the collection without the document."""

    deleted: int
    version: str


class Counted(Facets):
    """Number of matching documents, and facets over them."""

    version: str
    warnings: list[RequestWarning]


class CalibratedMeasure(Calibration):
    """A measure whose scores come with probabilities."""

    measure: str


class Model(Answer):
    """A served model; what is known only once it is loaded is None until its first use."""

    name: str
    default: bool
    loaded: bool
    space: str
    pooling: str
    dim: int | None
    max_tokens: int | None
    build: str | None
    precision: str | None = None
    calibrations: list[CalibratedMeasure] = Field(default_factory=list)


class Measure(Answer):
    """A measure that calls may name; a bound is None where there is none."""

    name: str
    summary: str
    reference: str
    bounds: tuple[float | None, float | None]
    symmetric: bool
    explainable: bool


class ModelList(Answer):
    """The served models, and the measures that compare their vectors."""

    models: list[Model]
    measures: list[Measure]


class ModelName(Answer):
    """A name that `model` may have: of a served model, or an alias."""

    id: str


class ModelNames(Answer):
    """The names of the served models, and their aliases."""

    data: list[ModelName]
