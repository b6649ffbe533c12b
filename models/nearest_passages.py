"""Scores and explanations of texts that are read in passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from semblance.models.alignment.pairwise import score_all_pairs
from semblance.models.embeddings import Doubles, TokenEmbeddings, own_tokens, pooled_rows, unit_rows
from semblance.models.explanation import Explanation
from semblance.models.protocols import Explainable, Similarity
from semblance.models.tokenization.glossary import NO_GLOSSARY, Glossary


def nearest_passages(a: TokenEmbeddings, b: TokenEmbeddings) -> tuple[TokenEmbeddings, TokenEmbeddings]:
    """Find the two passages with the largest cosine of their pooled vectors, one of each text.

    A text that is not read in passages stands for itself; of equally near passages, the first ones are returned.
    """
    if not (a.passages or b.passages):
        return a, b
    left, right = a.passages or (a,), b.passages or (b,)
    cosines = unit_rows(pooled_rows(left)) @ unit_rows(pooled_rows(right)).T
    row, column = np.unravel_index(int(cosines.argmax()), cosines.shape)
    return left[row], right[column]


def score_pair(measure: Similarity, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
    """Score two texts: measures of tokens score the nearest passages, others the whole texts."""
    return measure.score(a, b) if measure.needs == "pooled" else measure.score(*nearest_passages(a, b))


def score_passages(
    measure: Similarity,
    query: TokenEmbeddings,
    candidates: Sequence[TokenEmbeddings],
    glossary: Glossary = NO_GLOSSARY,
) -> Doubles:
    """(len(candidates),) scores of `query` with each candidate; agrees with `score_pair`.

    Measures of tokens obey the glossary; then all texts need their tokens.
    """
    if glossary and measure.needs != "pooled":
        query, candidates = glossary.read(query), list(map(glossary.read, candidates))
    if not _reads_passages(measure, [query, *candidates]):
        return measure.score_many(query, candidates)
    return np.array([score_pair(measure, query, candidate) for candidate in candidates], np.float64)


def score_passage_pairs(
    measure: Similarity, left: Sequence[TokenEmbeddings], right: Sequence[TokenEmbeddings]
) -> Doubles:
    """(len(left), len(right)) scores of all pairs; agrees with `score_pair`."""
    if not _reads_passages(measure, [*left, *right]):
        return score_all_pairs(measure, left, right)
    return np.stack([score_passages(measure, text, right) for text in left])


def explain_passages(
    explainer: Explainable, a: TokenEmbeddings, b: TokenEmbeddings, glossary: Glossary = NO_GLOSSARY
) -> Explanation:
    """Explain the score of two texts by the links of their nearest passages.

    The score of pooled vectors is that of the whole texts: the parts of the other passages are `omitted`. With n_p own
    tokens and the pooled vector u_p of passage p of a, m_q and z_q likewise of b, and the parts h_ij of cos(u_p, z_q),
    the parts of the whole score are::

        n_p |u_p| m_q |z_q| / (|sum_p n_p u_p| |sum_q m_q z_q|) h_ij

    Measures of tokens obey the glossary; then `by_glossary` is what it adds to the score.
    """
    near = nearest_passages(a, b)
    if glossary and explainer.needs != "pooled":
        obeyed = explainer.explain(*map(glossary.read, near))
        return replace(obeyed, by_glossary=obeyed.score - explainer.score(*near))
    explanation = explainer.explain(*near)
    if near == (a, b) or explainer.needs != "pooled":
        return explanation
    part = _share(a, near[0]) * _share(b, near[1])
    score = explainer.score(a, b)
    return replace(
        explanation,
        score=score,
        contribution=part * explanation.contribution,
        special=part * explanation.special,
        omitted=score - part * explanation.score,
    )


def _reads_passages(measure: Similarity, texts: Sequence[TokenEmbeddings]) -> bool:
    return measure.needs != "pooled" and any(text.passages for text in texts)


def _share(text: TokenEmbeddings, passage: TokenEmbeddings) -> float:
    """Share of a passage in the length of the mean of all passages; 1 for the whole text."""
    if not text.passages:
        return 1.0
    counts = np.array([own_tokens(part) for part in text.passages], np.float64)
    total = float(np.linalg.norm(counts @ pooled_rows(text.passages)))
    return own_tokens(passage) * float(np.linalg.norm(passage.pooled())) / total if total else 0.0
