"""Measures by name, as requests ask for them."""

from __future__ import annotations

from semblance.models import catalogue
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.errors import UnknownName
from semblance.models.explanation import LinkList
from semblance.models.protocols import Explainable, Similarity
from semblance.service.errors import UnknownMeasure

DEFAULT_LINKS = 200
DEFAULT_MEASURE = "cosine"


def measure(name: str) -> Similarity:
    """The measure of that name. Raises UnknownMeasure."""
    try:
        return catalogue.similarity(name)
    except UnknownName as error:
        raise UnknownMeasure(str(error)) from error


def explainable(name: str) -> Explainable:
    """The measure of that name, if its score decomposes. Raises UnknownMeasure, NotExplainable."""
    measure(name)
    return catalogue.explainable(name)


def word_links(explainer: Explainable, a: TokenEmbeddings, b: TokenEmbeddings) -> LinkList:
    """Why a score, between words and with the usual number of links: as it goes along with pairs and hits."""
    return explainer.explain(a, b).by_word().link_list(DEFAULT_LINKS)
