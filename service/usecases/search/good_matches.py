"""Good matches: more evidence for a document than questions about everything have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from semblance.models.embeddings import unit_rows
from semblance.models.protocols import Encoder
from semblance.models.tokenization.function_words import language_of
from semblance.models.tokenization.terms import query_terms
from semblance.models.tokenization.word_boundaries import words
from semblance.service.callers import Permission, current_permission
from semblance.service.ports.documents import Collection, Version
from semblance.service.ports.indexes import HybridHits, HybridQuery, IndexReader
from semblance.service.replication.access import CollectionAccess
from semblance.service.threads import until_left
from semblance.service.usecases.text_embedder import AT_END, InputText, TextEmbedder

QUANTILE = 0.9  # of the evidence for the questions
TERM_WEIGHT = 6.0  # times the standard deviation of their best cosines; see benchmarks.quality.search.good_matches
GROWTH = 2  # or shrinkage of the number of documents, by a factor, after which the questions are asked again
_CANDIDATES = 10  # of a question
_MOST = 1000  # collections and callers that are remembered

_Key = tuple[str, str, Permission, str]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for a match: the best cosine, and the largest matched share of the query.

    Attributes:
        weight: of that share.
        least: evidence of a good match.
    """

    weight: float
    least: float

    def is_good(self, found: HybridHits) -> bool:
        """Whether candidates have a good match: one with a code, if the query has nothing else."""
        if any(hit.codes in ("all", "some") for hit in found.hits):
            return True
        if found.only_missing_codes:
            return False
        return _best_cosine(found) + self.weight * found.matched >= self.least


class GoodMatches:
    """Evidence of good matches, by collection, caller and language.

    Questions about everything are searched once, and again where the collection has grown. A good match has more
    evidence than most of them.
    """

    def __init__(self, access: CollectionAccess, texts: TextEmbedder) -> None:
        self._access = access
        self._texts = texts
        self._known: dict[_Key, tuple[Version, int, Evidence]] = {}

    async def evidence(
        self, queries: Sequence[str], collection: Collection, index: IndexReader, encoder: Encoder
    ) -> list[Evidence | None]:
        """The evidence that a good match of each query has; None without questions."""
        languages = [_language(query) for query in queries]
        generation = f"{collection.version.epoch}:{collection.settings.generation}"
        found: dict[str, Evidence | None] = {}
        for language in {*languages} & _questions().keys():
            key = (collection.name, generation, current_permission(), language)
            found[language] = await self._evidence(key, index, encoder)
        return [found.get(language) for language in languages]

    async def _evidence(self, key: _Key, index: IndexReader, encoder: Encoder) -> Evidence | None:
        """As known, unless the index has changed and grown; None without documents."""
        known = self._known.get(key)
        if known is not None and known[0] == index.version:
            return known[2]
        version, count = index.version, await self._access.search(lambda _: len(index))
        if not count:
            return None
        if known is None or not known[1] / GROWTH < count < known[1] * GROWTH:
            if len(self._known) >= _MOST:
                self._known.clear()
            evidence = await self._ask(_questions()[key[-1]], index, encoder)
            self._known[key] = version, count, evidence
            return evidence
        self._known[key] = version, known[1], known[2]
        return known[2]

    async def _ask(self, questions: Sequence[str], index: IndexReader, encoder: Encoder) -> Evidence:
        texts = [InputText(question, "/query") for question in questions]
        asked = await self._texts.embed(encoder, texts, "query", "pooled", AT_END)
        directions = unit_rows(np.stack([each.pooled() for each in asked.embeddings])).astype(np.float32)
        queries = [HybridQuery(*each) for each in zip(directions, map(query_terms, questions), strict=True)]
        found = await self._access.search(
            lambda _: [index.search_hybrid(query, _CANDIDATES, None, 1) for query in until_left(queries)]
        )
        cosines = np.array([_best_cosine(each) for each in found])
        weight = TERM_WEIGHT * float(np.std(cosines))
        matched = np.array([each.matched for each in found])
        return Evidence(weight, float(np.quantile(cosines + weight * matched, QUANTILE)))


def _best_cosine(found: HybridHits) -> float:
    return max((each.score for hit in found.hits for each in hit.passages), default=-1.0)


def _language(query: str) -> str:
    """Its code; codes such as ER-4012 have none, whatever their letters."""
    for term in sorted(query_terms(query), key=lambda term: -term.start):
        if term.kind == "code":
            query = f"{query[: term.start]}code{query[term.end :]}"
    return language_of([query[start:end] for start, end in words(query)]) or ""


@cache
def _questions() -> Mapping[str, Sequence[str]]:
    """Questions by the code of their language."""
    text = (files("semblance.service.usecases.search") / "general_questions.txt").read_text("utf-8")
    paragraphs = (paragraph.splitlines() for paragraph in text.split("\n\n")[1:])
    return {code.rstrip(":"): questions for code, *questions in paragraphs}
