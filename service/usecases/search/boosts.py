"""Boosts by dates and numbers of a document, and weights of its text fields."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from semblance_client.vocabulary.collections import TEXT
from semblance_client.vocabulary.fields import Scalar
from semblance_client.vocabulary.search import Boost, BoostPart

from semblance.service.errors import InvalidRequest, Problem
from semblance.service.filters import scalars, seconds_of
from semblance.service.ports.documents import Collection, CutDocuments, Metadata, PassageKey
from semblance.service.ports.indexes import HybridHit

_DAY_S = 86_400
_LARGEST = 1e300  # number; a larger one counts as this


def boosts_of(metadata: Metadata, boosts: Sequence[Boost]) -> list[BoostPart]:
    """Parts of the boosts, 0 where the field has neither dates nor numbers.

    Of a list, the best entry counts.
    """
    return [BoostPart(field=each.field, bonus=each.weight * _share(metadata, each)) for each in boosts]


def passage_weights(
    read: CutDocuments, hits: Iterable[HybridHit], weights: Mapping[str, float]
) -> dict[PassageKey, float]:
    """Weights of the passages of candidates, by the text fields that they are of."""
    found: dict[PassageKey, float] = {}
    for key in [PassageKey(hit.id, passage.number) for hit in hits for passage in hit.passages]:
        try:
            part = read.searched(key.document).part_at(read.span(key)[0])
        except LookupError:  # rewritten since the search, which then is repeated
            continue
        found[key] = weights.get(part.field or TEXT, 1.0)
    return found


def check_weights(weights: Mapping[str, float], collection: Collection) -> None:
    """Raise InvalidRequest if a weight is not of a text field."""
    known = (TEXT, *collection.settings.text_fields)
    problems = [
        Problem("/field_weights", "invalid_value", f"{name!r} is no text field: choose one of {', '.join(known)}")
        for name in weights
        if name not in known
    ]
    if problems:
        raise InvalidRequest(problems)


def unread_dates(values: Iterable[object]) -> bool:
    """Whether some values of a field are strings, and no value is a date or a number.

    >>> unread_dates(["31.05.2026", None]), unread_dates(["31.05.2026", "2026-05-31"]), unread_dates([None])
    (True, False, False)
    """
    found = [each for value in values for each in scalars(value) if each is not None]
    return any(isinstance(each, str) for each in found) and all(_time(each) is None for each in found)


def _share(metadata: Metadata, boost: Boost) -> float:
    """From 0 to 1."""
    values = scalars(metadata.get(boost.field, {}))
    if boost.half_life_days is None:
        numbers = [number for value in values if (number := _number(value)) is not None]
        return min(1.0, math.log1p(max([0.0, *numbers])) / math.log1p(boost.full_at or 1.0))
    now = _seconds(boost.origin or datetime.now(UTC))
    ages_s = [abs(now - time) for value in values if (time := _time(value)) is not None]
    return float(2 ** (-min(ages_s, default=math.inf) / _DAY_S / boost.half_life_days))


def _number(value: Scalar) -> float | None:
    return None if isinstance(value, bool | str | None) else float(min(value, _LARGEST))


def _time(value: Scalar) -> float | None:
    """Seconds since 1970 of a date, or of the number of these seconds."""
    if not isinstance(value, str):
        return _number(value)
    return seconds_of(value)


def _seconds(time: datetime) -> float:
    """Seconds since 1970; without a time zone it is in UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
