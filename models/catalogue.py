"""Entries of the families, found by file name, without registration.

A family is a folder of modules, such as `models/measures/`. The file `rcmd.py` defines the class whose name,
ignoring case and underscores, is `rcmd`. A module whose name begins with `_` is shared code and no entry. Modules are
imported on first use.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from importlib.util import find_spec
from typing import Any

from semblance.models.embeddings import Want
from semblance.models.errors import MeasureNotInstalled, NotExplainable, UnknownMeasure, UnknownName
from semblance.models.protocols import Explainable, Similarity

MEASURES = "semblance.models.measures"


@cache
def names(family: str) -> tuple[str, ...]:
    """Sorted entries of a family, an importable package such as `semblance.models.measures`.

    >>> "rcmd" in names("semblance.models.measures")
    True
    """
    package = importlib.import_module(family)
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name for name in modules if not name.startswith("_")))


def find(family: str, name: str) -> type[Any]:
    """Class of entry `name` in `family`.

    Raises:
        UnknownName: the family has no such file.
    """
    if name not in names(family):
        error = UnknownMeasure if family == MEASURES else UnknownName
        raise error(family.rpartition(".")[2], name, names(family))
    module = importlib.import_module(f"{family}.{name}")
    class_name = name.replace("_", "")
    for attribute in vars(module).values():
        if isinstance(attribute, type) and attribute.__name__.lower() == class_name:
            return attribute
    raise ImportError(f"{module.__file__} must define a class named {class_name!r}, in any case")


@cache
def measures() -> tuple[str, ...]:
    """Sorted names of the measures whose packages are installed."""
    return tuple(name for name in names(MEASURES) if _is_installed(find(MEASURES, name)))


def _is_installed(measure: type[Similarity]) -> bool:
    package = getattr(measure, "package", None)
    return package is None or find_spec(package) is not None


def summary(name: str) -> str:
    """First sentence of a measure's docstring.

    >>> summary("rcmd")
    'The mean of `rcmd1` and `rcmd2`: tokens of both texts match their best in the other.'
    """
    return (inspect.getdoc(type(similarity(name))) or "").partition("\n\n")[0].replace("\n", " ")


@cache
def similarity(name: str) -> Similarity:
    """Measure by name.

    >>> similarity("rcmd").bounds
    (-1.0, 1.0)

    Raises:
        UnknownMeasure: no such measure, or its package is not installed.
    """
    found: type[Similarity] = find(MEASURES, name)
    if not _is_installed(found):
        raise MeasureNotInstalled(name, "pot", "transport")
    return found()


def explains(name: str) -> bool:
    """Whether a measure's score is a sum over pairs of tokens. Raises UnknownMeasure."""
    return isinstance(similarity(name), Explainable)


def is_distance(name: str) -> bool:
    """Whether a measure is minus a distance: its largest score is 0. Raises UnknownMeasure.

    >>> is_distance("word_movers"), is_distance("rcmd")
    (True, False)
    """
    return similarity(name).bounds[1] == 0


def explainable(name: str) -> Explainable:
    """Measure by name, if its score is a sum over pairs of tokens.

    Raises:
        UnknownMeasure: no such measure.
        NotExplainable: its score does not decompose.
    """
    found = similarity(name)
    if not isinstance(found, Explainable):
        raise NotExplainable(f"{name} does not decompose into token links; request scores only")
    return found


def required_vectors(*measures: Similarity) -> Want:
    """Vectors that an encoder must return for these measures.

    >>> required_vectors(similarity("cosine")), required_vectors(similarity("cosine"), similarity("rcmd"))
    ('pooled', 'tokens')
    """
    return "pooled" if all(measure.needs == "pooled" for measure in measures) else "tokens"
