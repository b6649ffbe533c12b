"""The verdict on two texts in pictures and pages: one line, and the words that differ."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from semblance_client.vocabulary.same import Place, Verdict

from semblance.models.text import Booleans, Units
from semblance.service.rendering.labels import one_line


def verdict_line(same: Verdict) -> tuple[str, str]:
    """The verdict in a word, and what speaks against the pair; together one line.

    >>> verdict_line(Verdict(verdict="same", log_odds=2.75, base=2.75, rest=0.0, reasons=[]))
    ('Same', '')
    """
    said, colon, reasons = one_line(str(same)).partition(":")
    return said + colon, reasons


def differing(units: Units, places: Iterable[Place]) -> Booleans:
    """(n,) whether each unit shares characters with a place."""
    found: Booleans = np.zeros(len(units), np.bool_)
    for place in places:
        found |= (units.spans[:, 0] < place.end) & (units.spans[:, 1] > place.start)
    return found


def places_of(same: Verdict | None) -> tuple[list[Place], list[Place]]:
    """The places of the main reasons, in both texts."""
    reasons = same.main_reasons if same else []
    return [place for reason in reasons for place in reason.a], [place for reason in reasons for place in reason.b]
