"""What there is of each family, found by file name: a new file is a new entry, with nothing to register.

A family is a folder of modules, such as `models/similarities/`. The file `rcmd.py` holds the one class whose name,
ignoring case and underscores, is `rcmd`. Modules are imported when first asked for.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any, cast

from semblance.models.embeddings import Want
from semblance.models.errors import NotExplainable, UnknownName
from semblance.models.protocols import Explainable, Similarity

SIMILARITIES = "semblance.models.similarities"


@cache
def names(family: str) -> tuple[str, ...]:
    """The entries of a family (an importable package such as `semblance.models.similarities`), sorted.

    >>> "rcmd" in names("semblance.models.similarities")
    True
    """
    package = importlib.import_module(family)
    return tuple(sorted(module.name for module in pkgutil.iter_modules(package.__path__)))


def find(family: str, name: str) -> type[Any]:
    """The class of entry `name` in `family`.

    Raises:
        UnknownName: there is no such file.
    """
    if name not in names(family):
        raise UnknownName(family.rpartition(".")[2], name, names(family))
    module = importlib.import_module(f"{family}.{name}")
    wanted = name.replace("_", "")
    for attribute in vars(module).values():
        if isinstance(attribute, type) and attribute.__name__.lower() == wanted:
            return attribute
    raise ImportError(f"{module.__file__} must hold a class named {wanted!r} in any case")


def summary(name: str) -> str:
    """The first sentence that the measure of that name says of itself.

    >>> summary("rcmd")
    'The mean of `rcmd1` and `rcmd2`: tokens of both texts find their best match in the other.'
    """
    return (inspect.getdoc(type(similarity(name))) or "").partition("\n\n")[0].replace("\n", " ")


@cache
def similarity(name: str) -> Similarity:
    """The measure of that name.

    >>> similarity("rcmd").bounds
    (-1.0, 1.0)

    Raises:
        UnknownName: there is no such measure.
    """
    return cast("Similarity", find(SIMILARITIES, name)())


def explains(name: str) -> bool:
    """Whether the score of the measure of that name is a sum over pairs of tokens. Raises UnknownName."""
    return isinstance(similarity(name), Explainable)


def explainable(name: str) -> Explainable:
    """The measure of that name, if its score is such a sum.

    Raises:
        UnknownName: there is no such measure.
        NotExplainable: its score does not decompose.
    """
    found = similarity(name)
    if not isinstance(found, Explainable):
        raise NotExplainable(f"{name} does not decompose into token links: ask for scores only")
    return found


def wanted(*measures: Similarity) -> Want:
    """What an encoder is asked for, so that each of the measures has what it needs.

    >>> wanted(similarity("cosine")), wanted(similarity("cosine"), similarity("rcmd"))
    ('pooled', 'tokens')
    """
    return "pooled" if all(measure.needs == "pooled" for measure in measures) else "tokens"
