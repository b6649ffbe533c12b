"""The one rule for names that people give: to collections, to served models, and to keys."""

from __future__ import annotations

import re

PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"  # as JSON schema wants it too
RULE = "a name has at most 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or digit"


def is_name(text: str) -> bool:
    r"""Whether a string obeys the rule.

    >>> is_name("faq-2.en"), is_name("FAQ"), is_name("faq\n")
    (True, False, False)
    """
    return re.fullmatch(PATTERN, text) is not None
