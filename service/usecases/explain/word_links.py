"""Explanations in responses: the strongest links between the words or tokens of two texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semblance_client.vocabulary import explanation as vocabulary
from semblance_client.vocabulary.explanation import DEFAULT_LINKS, Granularity, Link, Side, Token
from semblance_client.vocabulary.same import Verdict

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import Explanation, ReadText, tokens_of
from semblance.models.nearest_passages import explain_passages, nearest_passages
from semblance.models.protocols import Explainable
from semblance.models.text import Units
from semblance.models.tokenization.glossary import NO_GLOSSARY, Glossary

if TYPE_CHECKING:
    from semblance.service.usecases.paraphrases.verdicts import (
        Judge,  # with the metrics; `semblance.explain` needs none
    )


def word_links(
    explainer: Explainable,
    measure: str,
    a: TokenEmbeddings,
    b: TokenEmbeddings,
    glossary: Glossary = NO_GLOSSARY,
    judge: Judge | None = None,
) -> vocabulary.Explanation:
    """Explain a pair or a hit by its words; a pair has a verdict by its judge."""
    explanation = explain_passages(explainer, a, b, glossary).by_word()
    return strongest_links(explanation, measure, read_texts(a, b), same=judge and judge(a, b))


def read_texts(a: TokenEmbeddings, b: TokenEmbeddings) -> tuple[ReadText, ReadText]:
    """Two texts, and the parts of them that links connect."""
    left, right = nearest_passages(a, b)
    return ReadText.of(tokens_of(left)), ReadText.of(tokens_of(right))


def strongest_links(
    explanation: Explanation,
    measure: str,
    texts: tuple[ReadText, ReadText],
    granularity: Granularity = "word",
    max_links: int = DEFAULT_LINKS,
    same: Verdict | None = None,
) -> vocabulary.Explanation:
    """The strongest links of an explanation, and the sums of all else."""
    short = explanation.strongest(max_links)
    return vocabulary.Explanation(
        score=short.score,
        measure=measure,
        granularity=granularity,
        a=side(texts[0], explanation.left),
        b=side(texts[1], explanation.right),
        links=[
            Link(a=link.left, b=link.right, similarity=link.similarity, contribution=link.contribution)
            for link in short.links
        ],
        special=short.special,
        omitted=short.omitted,
        by_glossary=short.by_glossary,
        same=same,
    )


def side(read: ReadText, units: Units) -> Side:
    """A text and its units, as links connect them."""
    return Side(
        text=read.text,
        truncated=read.truncated or read.is_passage,
        read_start=read.start,
        read_end=read.end,
        tokens=[Token(text=unit.text, start=unit.start, end=unit.end) for unit in units],
    )
