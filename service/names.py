"""Rule for names of collections, models and API keys; what a misspelled name may mean."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rapidfuzz import fuzz, process
from semblance_client.vocabulary.fields import NAME_PATTERN

RULE = "a name has 1 to 64 characters of a-z, 0-9, '.', '_' and '-', and starts with a letter or digit"
_LEAST = 75  # of 100
_MAX_CHARS = 100  # of a name that is compared


def is_name(text: str) -> bool:
    r"""Whether a string is a valid name.

    >>> is_name("faq-2.en"), is_name("FAQ"), is_name("faq\n")
    (True, False, False)
    """
    return re.fullmatch(NAME_PATTERN, text) is not None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one close to it, if any.

    >>> did_you_mean("colection", ["collection", "k"]), did_you_mean("x", ["collection", "k"])
    (': did you mean `collection`?', '')
    """
    close = process.extractOne(name[:_MAX_CHARS], [*known], scorer=fuzz.ratio, processor=str.lower, score_cutoff=_LEAST)
    return f": did you mean `{close[0]}`?" if close else ""
