"""BM25 by its formula, in plain loops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

from semblance.models.tokenization.terms import document_terms, query_terms

Row = TypeVar("Row")


def bm25_scores(texts: Mapping[Row, str], query: str) -> dict[Row, float]:
    rows = {row: list(document_terms(text)) for row, text in texts.items()}
    mean = sum(len(terms) for terms in rows.values()) / max(len(rows), 1)
    scores = dict.fromkeys(rows, 0.0)
    for term in query_terms(query):
        n = sum(any(map(term.finds, terms)) for terms in rows.values())
        idf = math.log(1 + (len(rows) - n + 0.5) / (n + 0.5))
        for row, terms in rows.items():
            if tf := sum(map(term.finds, terms)):
                scores[row] += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(terms) / mean))
    return scores
