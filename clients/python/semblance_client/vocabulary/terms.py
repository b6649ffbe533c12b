"""The match of a hit and a query by their terms."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from pydantic import Field

from semblance_client.vocabulary.responses import ResponseBody

CodeTier: TypeAlias = Literal["all", "some", "none"]
CODE_TIERS: tuple[CodeTier, ...] = get_args(CodeTier)
"""In the order of the hits."""


class Term(ResponseBody):
    """A term of the query that a passage has."""

    term: str
    """In lower case, without accents, in the letters and digits that people type."""
    idf: float
    """Rarity among the passages of the collection."""
    tf: int
    """Number of occurrences in the passage."""
    score: float
    """Its part of the score by BM25."""
    bonus: float
    """Its part of the bonus."""
    spans: list[tuple[int, int]]
    """Its places in the document, in code points."""


class TermMatch(ResponseBody):
    """The match of a document's best passage and the query by their terms."""

    vector_rank: int | None
    """Of the document among the candidates by vector, from 1; null if it is not among them."""
    term_rank: int | None
    """The same by terms."""
    score: float
    """By BM25: the sum of those of the terms."""
    bonus: float
    """Added to the score of the hit for its terms: the sum of their bonuses."""
    combined: float | None
    """Score, bonus and boosts, which order the hits of equal `codes`; null in mode lexical."""
    codes: CodeTier | None = None
    """Whether the document has all, some or none of the codes in the query, by which hits are ordered first; null if
    the query has no codes."""
    code_fields: list[str] = Field(default_factory=list)
    """Metadata fields with a code of the query as their value, and `id` if the document's is one."""
    terms: list[Term]
    """The terms of the query that the passage has."""
