"""Rule for the names of collections, served models and API keys."""

from __future__ import annotations

import re

from semblance_client.vocabulary.fields import NAME_PATTERN

RULE = "a name has 1 to 64 characters of a-z, 0-9, '.', '_' and '-', and starts with a letter or digit"


def is_name(text: str) -> bool:
    r"""Whether a string is a valid name.

    >>> is_name("faq-2.en"), is_name("FAQ"), is_name("faq\n")
    (True, False, False)
    """
    return re.fullmatch(NAME_PATTERN, text) is not None
