"""Order the candidates of a query by a measure, by terms, or by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

from semblance_client.vocabulary.search import Mode

from semblance.service.ports.documents import PassageKey
from semblance.service.ports.indexes import HybridHit, HybridHits, HybridPassage, PassageHit, TermScore
from semblance.service.usecases.search.hits import RankedHit, RankedTerms, codes_rank

MAX_BONUS = 0.5  # that terms add to the score of a measure, however many and rare they are
HALF_BONUS = 40.0  # score by BM25 that adds half of it
LEAST_SHARES: Mapping[Mode, float] = {"hybrid": 0.25, "auto": 0.5}
"""Of the information of a query, by mode: if no document has as much, terms are left out (decision 62)."""


NO_WEIGHTS: Mapping[PassageKey, float] = MappingProxyType({})


class WithId(Protocol):
    """A hit of any stage."""

    @property
    def id(self) -> str:
        """The id of its document."""


Found = TypeVar("Found", bound=WithId)


class Step(NamedTuple):
    """A number of candidates, of which the best are the first `hits` of all pages."""

    candidates: int
    hits: int


class _Ranked(NamedTuple):
    """A passage, the number that orders it, the part of that by a weight, and the match."""

    value: float
    weighted: float
    passage: PassageHit
    match: RankedTerms | None


def bonus_of(score: float) -> float:
    """The bonus for a score by BM25: up to `MAX_BONUS`, ever more slowly.

    >>> bonus_of(0.0), bonus_of(10.0)
    (0.0, 0.1)
    """
    return MAX_BONUS * score / (score + HALF_BONUS)


def term_bonus(term: TermScore, score: float, bonus: float) -> float:
    """The share of a term in the bonus of a passage, in proportion to its part of the score."""
    return bonus * term.score / score


def ordered(
    candidates: HybridHits,
    scores: Mapping[PassageKey, float] | None,
    mode: Mode,
    passages: int,
    weights: Mapping[PassageKey, float] = NO_WEIGHTS,
) -> list[RankedHit]:
    """The candidates, by codes and then by value, each with its best passages.

    Args:
        candidates: as an index found them.
        scores: of their passages by the measure; those without one are left out. None takes the scores of the index.
        mode: how they were searched; "lexical" orders by terms alone, all others by the measure and the bonus of terms.
        passages: most passages of a hit.
        weights: of passages by the text fields that they are of; 1 for all others.
    """
    codes = frozenset(candidates.codes)
    ranked = [_ranked(candidate, codes, scores, mode, passages, weights) for candidate in candidates.hits]
    return sorted(filter(None, ranked), key=lambda hit: (codes_rank(hit.terms), -hit.value, hit.id))


def in_steps(hits: Sequence[Found], candidates: HybridHits, steps: Sequence[Step]) -> list[Found]:
    """Hits in order, but the best of the first candidates first, whatever comes behind them.

    Args:
        hits: in order.
        candidates: among which they are, as the steps count them.
        steps: how many hits each number of candidates makes.
    """
    place = {hit.id: number for number, hit in enumerate(candidates.hits)}
    placed, rest = list[Found](), list(hits)
    for step in steps[:-1]:
        within = [hit for hit in rest if place[hit.id] < step.candidates][: step.hits - len(placed)]
        known = {hit.id for hit in within}
        placed += within
        rest = [hit for hit in rest if hit.id not in known]
    return placed + rest


def _ranked(
    candidate: HybridHit,
    codes: Set[str],
    scores: Mapping[PassageKey, float] | None,
    mode: Mode,
    passages: int,
    weights: Mapping[PassageKey, float],
) -> RankedHit | None:
    """A candidate with its passages, most codes first; None if no passage has a score."""
    found: list[_Ranked] = []
    for each in candidate.passages:
        key = PassageKey(candidate.id, each.number)
        score = each.score if scores is None else scores.get(key)
        if score is not None:
            match = _match(candidate, each, mode)
            value = _value(score, match, mode)
            weighted = (weights.get(key, 1.0) - 1.0) * abs(value)  # also of a distance, which is below 0
            found.append(_Ranked(value + weighted, weighted, PassageHit(each.number, score), match))
    if not found:
        return None
    found.sort(key=lambda each: (-_count(codes, each.match), -each.value, each.passage.number))
    best = found[0]
    kept = [each.passage for each in found[:passages]]
    return RankedHit(candidate.id, best.passage.score, kept, best.value, best.match, best.weighted)


def _match(candidate: HybridHit, passage: HybridPassage, mode: Mode) -> RankedTerms | None:
    if passage.terms is None:
        return None
    score = sum(term.score for term in passage.terms)
    bonus = 0.0 if mode == "lexical" else bonus_of(score)
    return RankedTerms(
        candidate.vector_rank, candidate.term_rank, passage.terms, score, bonus, candidate.codes, candidate.named
    )


def _count(codes: Set[str], match: RankedTerms | None) -> int:
    """Number of codes among the terms of a passage."""
    return 0 if match is None else sum(each.term.text in codes for each in match.terms)


def _value(score: float, match: RankedTerms | None, mode: Mode) -> float:
    """The number by which a passage is ordered."""
    if match is None:
        return score
    return match.score if mode == "lexical" else score + match.bonus
