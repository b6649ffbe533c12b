"""The strongest links between the words of two texts, wherever a score is explained."""

from __future__ import annotations

from dataclasses import dataclass

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.explanation import Explanation, LinkList, ReadText, RemovedAt, tokens_of
from semblance.models.protocols import Explainable
from semblance.models.text import Truncate

DEFAULT_LINKS = 200


@dataclass(frozen=True, slots=True)
class WordLinks:
    """The strongest links between the words of two texts, up to the default number."""

    links: LinkList
    a: ReadText
    b: ReadText


def word_links(
    explainer: Explainable, a: TokenEmbeddings, b: TokenEmbeddings, truncate_a: Truncate, truncate_b: Truncate = "END"
) -> WordLinks:
    """Explain a pair or a hit; each text was truncated at its given end, if at all."""
    return strongest_links(explainer.explain(a, b).by_word(), a, b, truncate_a, truncate_b)


def strongest_links(
    explanation: Explanation,
    a: TokenEmbeddings,
    b: TokenEmbeddings,
    truncate_a: Truncate,
    truncate_b: RemovedAt,
) -> WordLinks:
    """The strongest links of an explanation by words, with its texts."""
    links = explanation.link_list(DEFAULT_LINKS)
    return WordLinks(links, ReadText.of(tokens_of(a), truncate_a), ReadText.of(tokens_of(b), truncate_b))
