"""Good matches: documents nearer than the nearest ones of questions about everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from semblance.models.embeddings import unit_rows
from semblance.models.protocols import Encoder
from semblance.models.tokenization.function_words import language_of
from semblance.models.tokenization.word_boundaries import words
from semblance.service.callers import Permission, current_permission
from semblance.service.ports.documents import Collection
from semblance.service.ports.indexes import HybridHits, IndexReader
from semblance.service.replication.access import CollectionAccess
from semblance.service.usecases.text_embedder import AT_END, InputText, TextEmbedder

QUANTILE = 0.95  # of the scores of the questions
MATCHED_SHARE = 0.9  # of the information of a query; a document that has it is a good match
GROWTH = 2  # times as many documents, or as few, after which the questions are asked again
_MOST = 1000  # collections and callers that are remembered

_Key = tuple[str, str, Permission, str]


class GoodMatches:
    """Least cosines of good matches, by collection, caller and language.

    Questions about everything are searched once, and again where the collection has grown. Of their best scores, a good
    match is above the quantile.
    """

    def __init__(self, access: CollectionAccess, texts: TextEmbedder) -> None:
        self._access = access
        self._texts = texts
        self._known: dict[_Key, tuple[int, float]] = {}

    async def least_cosines(
        self, queries: Sequence[str], collection: Collection, index: IndexReader, encoder: Encoder
    ) -> list[float | None]:
        """The least cosine of a good match of each query; None for a language without questions."""
        if not index.has_terms or not (count := await self._access.search(lambda _: len(index))):
            return [None] * len(queries)
        languages = [_language(query) for query in queries]
        generation = f"{collection.version.epoch}:{collection.settings.generation}"
        found: dict[str, float] = {}
        for language in {*languages} & _questions().keys():
            key = (collection.name, generation, current_permission(), language)
            known, found[language] = self._known.get(key, (0, 0.0))
            if not known / GROWTH < count < known * GROWTH:
                if len(self._known) >= _MOST:
                    self._known.clear()
                found[language] = await self._ask(_questions()[language], index, encoder)
                self._known[key] = count, found[language]
        return [found.get(language) for language in languages]

    async def _ask(self, questions: Sequence[str], index: IndexReader, encoder: Encoder) -> float:
        texts = [InputText(question, "/query") for question in questions]
        asked = await self._texts.embed(encoder, texts, "query", "pooled", AT_END)
        directions = unit_rows(np.stack([each.pooled() for each in asked.embeddings])).astype(np.float32)
        _, hits = await self._access.search(lambda _: index.search(directions, 1, None))
        return float(np.quantile([own[0].score for own in hits if own] or [0.0], QUANTILE))


def is_good(found: HybridHits, least: float) -> bool:
    """Whether a query has a good match: near, with one of its codes, or with most of its words."""
    if found.matched >= MATCHED_SHARE or any(hit.codes in ("all", "some") for hit in found.hits):
        return True
    return max((each.score for hit in found.hits for each in hit.passages), default=-1.0) >= least


def _language(query: str) -> str:
    return language_of([query[start:end] for start, end in words(query)]) or ""


@cache
def _questions() -> Mapping[str, Sequence[str]]:
    """Questions by the code of their language."""
    text = (files("semblance.service.usecases.search") / "general_questions.txt").read_text("utf-8")
    paragraphs = (paragraph.splitlines() for paragraph in text.split("\n\n")[1:])
    return {code.rstrip(":"): questions for code, *questions in paragraphs}
