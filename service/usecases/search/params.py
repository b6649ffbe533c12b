"""What a search is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from semblance.models.measures.highlight import HighlightOptions
from semblance.models.protocols import Encoder
from semblance.models.text import Truncate
from semblance.service.filters import Filter
from semblance.service.ports.calibration import Calibration
from semblance.service.ports.documents import Version
from semblance.service.ports.indexes import Facet
from semblance.service.request_warnings import RequestWarning
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.search.choice import Choice
from semblance.service.usecases.search.hits import SearchHit
from semblance.service.usecases.search.ordering import Mode
from semblance.service.usecases.search.rescoring import ScoreSource


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Queries and options. Measures other than the index's own rescore the `candidates`.

    A document whose id is `like` takes the place of the queries, and is no hit itself. `facets` has the number of
    values to count by field.
    """

    queries: Sequence[InputText]
    collection: str
    k: int
    candidates: int
    measure: str | None
    truncate: Truncate = "END"
    min_score: float | None = None
    min_probability: float | None = None
    where: Filter | None = None
    explain: bool = False
    min_version: Version | None = None
    passages: int = 1
    mode: Mode = "vector"
    highlight: HighlightOptions | None = None
    like: str | None = None
    facets: Mapping[str, int] = field(default_factory=dict)
    choice: Choice = field(default_factory=Choice)

    @property
    def counts_hits(self) -> bool:
        """Whether a threshold decides which documents the facets count."""
        return bool(self.facets) and (self.min_score is not None or self.min_probability is not None)

    @property
    def ranked(self) -> int:
        """Number of hits to rank: more than are returned where some are chosen of them, or counted."""
        return self.candidates if self.choice or self.counts_hits else self.k


@dataclass(frozen=True, slots=True)
class Facets:
    """Number of documents that pass filter and threshold, and their values by field.

    `exact` says that every such document was counted: others may pass the threshold that were not scored.
    """

    documents: int
    by_field: Mapping[str, Facet]
    exact: bool


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Hits of each query, best first, with at most `passages` each, as `mode` orders them.

    `scored_from` names the source of the documents' vectors. `facets` are those of each query, if requested.
    """

    encoder: Encoder
    measure: str
    version: Version
    scored_from: ScoreSource
    truncated: Sequence[bool]
    hits: Sequence[Sequence[SearchHit]]
    tokens: int
    warnings: Sequence[RequestWarning]
    calibration: Calibration | None
    passages: int
    mode: Mode
    facets: Sequence[Facets | None]
