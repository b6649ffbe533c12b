"""Explanations in responses: the strongest links between the words or tokens of two texts."""

from __future__ import annotations

from semblance_client.vocabulary import explanation as vocabulary
from semblance_client.vocabulary.explanation import DEFAULT_LINKS, Granularity, Link, Side, Token

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import Explanation, ReadText, RemovedAt, tokens_of
from semblance.models.protocols import Explainable
from semblance.models.text import Truncate, Units


def word_links(
    explainer: Explainable,
    measure: str,
    a: TokenEmbeddings,
    b: TokenEmbeddings,
    truncate_a: Truncate,
    truncate_b: RemovedAt = "END",
) -> vocabulary.Explanation:
    """Explain a pair or a hit by its words; each text was truncated at its given end, if at all."""
    texts = ReadText.of(tokens_of(a), truncate_a), ReadText.of(tokens_of(b), truncate_b)
    return strongest_links(explainer.explain(a, b).by_word(), measure, texts)


def strongest_links(
    explanation: Explanation,
    measure: str,
    texts: tuple[ReadText, ReadText],
    granularity: Granularity = "word",
    max_links: int = DEFAULT_LINKS,
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
    )


def side(read: ReadText, units: Units) -> Side:
    """A text and its units, as links connect them."""
    return Side(
        text=read.text,
        truncated=read.truncated,
        read_start=read.start,
        read_end=read.end,
        tokens=[Token(text=unit.text, start=unit.start, end=unit.end) for unit in units],
    )
