"""Measures by name, as requests ask for them."""

from __future__ import annotations

from models import catalogue
from models.errors import NotExplainable, UnknownName
from models.protocols import Explainable, Similarity
from service.errors import UnknownMeasure

FAMILY = "models.similarities"


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
