"""Contract of hybrid searches of every index engine: both lists, ranks, scores and terms are those of plain loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semblance_client.vocabulary.terms import CODE_TIERS, CodeTier

from semblance.models import catalogue
from semblance.models.embeddings import unit_rows
from semblance.models.tokenization.terms import document_terms, query_terms
from semblance.service.filters import parse_filter
from semblance.service.ports.documents import PassageKey, VectorChange
from semblance.service.ports.indexes import ENGINES, HybridHit, HybridQuery
from tests.support.plain_bm25 import bm25_scores
from tests.support.stored_index import StoredIndex

DIM = 6
WORDS = st.sampled_from(["the", "the", "lamp", "is", "E-4711", "e 4711", "E-4712", "荷物", "broken"])
TEXT = st.lists(WORDS, max_size=8).map(" ".join)
QUERY = st.lists(st.one_of(WORDS, st.just("D3")), max_size=8).map(" ".join)  # also an id
CODES = st.lists(st.sampled_from(["E-4711", "e-4712", "lamp"]), max_size=2)
DOCUMENT = st.tuples(st.lists(TEXT, min_size=1, max_size=4), st.booleans(), CODES)
Step: TypeAlias = tuple[str, int, tuple[list[str], bool, list[str]]]
STEPS = st.lists(st.tuples(st.sampled_from(["upsert", "upsert", "delete"]), st.integers(0, 9), DOCUMENT), max_size=25)


def ranking(scores: Mapping[str, float], k: int) -> list[str]:
    return sorted(scores, key=lambda doc_id: -scores[doc_id])[:k]


def best(scores: Mapping[tuple[str, int], float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for (doc_id, _), score in scores.items():
        found[doc_id] = max(score, found.get(doc_id, -2.0))
    return found


def _codes_naming(doc_id: str, document: VectorChange) -> set[str]:
    return {doc_id, *map(str.lower, document.metadata["codes"])}


def code_tiers(query: str, documents: Mapping[str, VectorChange], allowed: Set[str]) -> dict[str, CodeTier]:
    """The tier of each allowed document by the rare codes of a query; none if the query has no rare codes."""
    has = {
        doc_id: _codes_naming(doc_id, each) | {term.text for text in each.texts for term in document_terms(text)}
        for doc_id, each in documents.items()
    }
    asked = {term.text for term in query_terms(query) if term.kind == "code"}
    bare = all(term.kind in ("code", "part") for term in query_terms(query))
    rare = {code for code in asked if bare or sum(code in each for each in has.values()) <= 3}
    if not rare:
        return {}
    return {
        doc_id: "all" if rare <= each else "some" if rare & each else "none"
        for doc_id, each in has.items()
        if doc_id in allowed
    }


class Ask(NamedTuple):
    """What is asked of an index."""

    query: str
    k: int
    filtered: bool
    terms_only: bool


@pytest.mark.parametrize("engine", catalogue.names(ENGINES))
@settings(max_examples=20)
@given(steps=STEPS, ask=st.builds(Ask, QUERY, st.integers(1, 6), st.booleans(), st.booleans()), seed=st.integers(0, 99))
def test_candidates_are_those_of_both_lists(engine: str, steps: Sequence[Step], ask: Ask, seed: int) -> None:
    rng = np.random.default_rng(seed)
    index = StoredIndex(engine, DIM)
    documents: dict[str, VectorChange] = {}
    for action, number, (texts, left, codes) in steps:
        doc_id = f"d{number}"
        vectors = unit_rows(rng.normal(size=(len(texts), DIM))).astype(np.float32)
        documents[doc_id] = VectorChange(doc_id, 1, vectors, {"left": left, "codes": codes}, texts)
        index.apply([documents[doc_id] if action == "upsert" else VectorChange(doc_id, 1, None, {})])
        if action == "delete":
            del documents[doc_id]
    vector = unit_rows(rng.normal(size=DIM)).astype(np.float32)
    where = parse_filter({"left": True}) if ask.filtered else None
    found = index.search_hybrid(HybridQuery(vector, query_terms(ask.query), terms_only=ask.terms_only), ask.k, where, 2)

    texts_of = {(doc_id, i): text for doc_id, each in documents.items() for i, text in enumerate(each.texts)}
    terms = bm25_scores(texts_of, ask.query)
    allowed = {doc_id for doc_id, each in documents.items() if not ask.filtered or each.metadata["left"]}
    cosines = {
        (doc_id, i): float(row.astype(float) @ vector)
        for doc_id, each in documents.items()
        for i, row in enumerate(each.vectors if each.vectors is not None else ())
    }
    near = {doc_id: score for doc_id, score in best(cosines).items() if doc_id in allowed}
    matching = {doc_id: score for doc_id, score in best(terms).items() if doc_id in allowed and score > 0}
    by_vector = [] if ask.terms_only else ranking(near, ask.k)
    tiers = code_tiers(ask.query, documents, allowed)
    coded = {doc_id for doc_id, tier in tiers.items() if tier in ("all", "some")}
    assert len(found.hits) == min(ask.k, len({*by_vector, *ranking(matching, ask.k), *coded})) or _tied(matching, ask.k)
    _require_tiers(found.hits, tiers, ask.k)
    named = {doc_id: _codes_naming(doc_id, documents[doc_id]) & set(found.codes) for doc_id in documents}
    assert [hit.named for hit in found.hits] == [bool(named[hit.id]) for hit in found.hits]
    passages = [PassageKey(*key) for key in [*texts_of, ("d0", 99), ("none", 0)]]
    own_terms = index.terms_of(query_terms(ask.query), passages)
    assert own_terms.keys() == texts_of.keys(), "missing passages are left out"
    for passage, own in own_terms.items():
        assert sum(term.score for term in own) == pytest.approx(terms[passage], abs=1e-9)
    for hit in found.hits:
        assert hit.id in allowed
        assert hit.vector_rank == (by_vector.index(hit.id) + 1 if hit.id in by_vector else None)
        if hit.term_rank is not None:
            better = sum(score > matching[hit.id] + 1e-9 for score in matching.values())
            equal = sum(abs(score - matching[hit.id]) < 1e-9 for score in matching.values())
            assert better < hit.term_rank <= better + equal
        for each in hit.passages:
            key = (hit.id, each.number)
            assert each.score == pytest.approx(cosines[key], abs=1e-6)
            assert sum(term.score for term in each.terms or ()) == pytest.approx(terms[key], abs=1e-9)
        numbers = {each.number for each in hit.passages}
        assert max(range(len(documents[hit.id].texts)), key=lambda i: cosines[hit.id, i]) in numbers
        if hit.term_rank is not None and hit.codes in (None, "none") and query_terms(ask.query):
            assert max(terms[hit.id, i] for i in numbers) == pytest.approx(matching[hit.id], abs=1e-9)


def _require_tiers(hits: Sequence[HybridHit], tiers: Mapping[str, CodeTier], k: int) -> None:
    """Documents with codes come first, and all of them as far as there is room."""
    assert [hit.codes for hit in hits] == [tiers.get(hit.id) for hit in hits]
    order = [CODE_TIERS.index(hit.codes) for hit in hits if hit.codes]
    assert order == sorted(order)
    assert {doc_id for doc_id, tier in tiers.items() if tier != "none"} <= {hit.id for hit in hits} or len(hits) == k


def _tied(matching: Mapping[str, float], k: int) -> bool:
    """Whether equals at the k-th place leave open which documents are found."""
    scores = sorted(matching.values(), reverse=True)
    return len(scores) > k and abs(scores[k - 1] - scores[k]) < 1e-9
