"""Options that may be given several times, and hold several entries each."""

from __future__ import annotations

from collections.abc import Iterable


def entries(given: Iterable[str]) -> list[str]:
    """The entries of all values, which are comma-separated; each once.

    >>> entries(["stsb, sickr", "stsb"])
    ['stsb', 'sickr']
    """
    return list(dict.fromkeys(filter(None, (part.strip() for value in given for part in value.split(",")))))
