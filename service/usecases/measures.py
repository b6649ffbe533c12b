"""Measures by name, as requests ask for them."""

from __future__ import annotations

from models import catalogue
from models.embeddings import TokenEmbeddings, Want
from models.errors import NotExplainable, UnknownName
from models.explanation import LinkList
from models.protocols import Explainable, Similarity
from service.errors import UnknownMeasure

FAMILY = "models.similarities"
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
    found = measure(name)
    if not isinstance(found, Explainable):
        raise NotExplainable(f"{name} does not decompose into token links: ask for scores only")
    return found


def wanted(similarity: Similarity) -> Want:
    """What an encoder is asked for, so that the measure has what it needs."""
    return "pooled" if similarity.needs == "pooled" else "tokens"


def word_links(explainer: Explainable, a: TokenEmbeddings, b: TokenEmbeddings) -> LinkList:
    """Why a score, between words and with the usual number of links: as it goes along with pairs and hits."""
    return explainer.explain(a, b).by_word().link_list(DEFAULT_LINKS)
