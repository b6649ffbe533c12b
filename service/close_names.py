"""Names that a misspelled one may mean."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz, process

_LEAST = 75  # of 100
_MAX_CHARS = 100  # of a name that is compared


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that is close to it, if there is one.

    >>> did_you_mean("colection", ["collection", "k"]), did_you_mean("x", ["collection", "k"])
    (': did you mean `collection`?', '')
    """
    close = process.extractOne(name[:_MAX_CHARS], known, scorer=fuzz.ratio, processor=str.lower, score_cutoff=_LEAST)
    return f": did you mean `{close[0]}`?" if close else ""
