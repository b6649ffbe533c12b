"""Checks of requests by the service: configured limits, filters, versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from semblance_client.vocabulary.matching import FacetRequest, ValueRange

from semblance.service.errors import InvalidRequest, Problem
from semblance.service.filters import Between, Filter, MalformedFilter, parse_filter
from semblance.service.ports.documents import Version
from semblance.service.ports.indexes import FacetQuery


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """RequestLimits of one request, as the settings of the same names have them."""

    max_texts: int
    max_scores: int
    max_hits: int
    max_explained: int
    max_documents: int
    max_k: int
    max_candidates: int

    @classmethod
    def of(cls, settings: object) -> RequestLimits:
        """The limits that settings have."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})


def require_at_most(pointer: str, value: int, limit: int, what: str) -> None:
    """Reject a value over a limit. Raises InvalidRequest."""
    if value > limit:
        raise InvalidRequest([Problem(pointer, "out_of_range", f"{value:,} {what} exceed the limit of {limit:,}")])


def requested_filter(json: object) -> Filter | None:
    """The filter of a request, if it has one. Raises InvalidRequest."""
    if json is None:
        return None
    try:
        return parse_filter(json)
    except MalformedFilter as error:
        raise InvalidRequest([Problem(f"/filter{error.place}", "bad_filter", str(error))]) from error


def requested_facets(requests: Sequence[FacetRequest]) -> dict[str, FacetQuery]:
    """Facets to count, by metadata field."""
    return {
        each.field: FacetQuery(each.values, [_within(each.field, bounds) for bounds in each.ranges])
        for each in requests
    }


def _within(field: str, bounds: ValueRange) -> Between:
    low = bounds.gte if bounds.gt is None else bounds.gt
    high = bounds.lte if bounds.lt is None else bounds.lt
    return Between(field, low, high, includes_low=bounds.gt is None, includes_high=bounds.lt is None)


def requested_version(text: object, pointer: str = "/min_version") -> Version | None:
    """The version in a request, if it has one. Raises InvalidRequest."""
    if text is None:
        return None
    try:
        return Version.parse(text if isinstance(text, str) else "")
    except ValueError as error:
        raise InvalidRequest([Problem(pointer, "bad_version", str(error))]) from error


def requested_versions(texts: Sequence[object]) -> list[Version | None]:
    """The `if_version` of each document. Raises InvalidRequest, which names all bad ones."""
    versions: list[Version | None] = []
    problems: list[Problem] = []
    for i, text in enumerate(texts):
        try:
            versions.append(requested_version(text, f"/documents/{i}/if_version"))
        except InvalidRequest as error:
            problems += error.problems
    if problems:
        raise InvalidRequest(problems)
    return versions
