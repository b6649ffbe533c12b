"""The numbers that Prometheus collects."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from semblance.service.observability.timings import STAGES, Stage
from semblance.service.ports.embedding import Miss, Urgency
from semblance.service.ports.indexes import IndexState

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_OF_COLLECTIONS = (
    ("index_documents", "Documents in the collection."),
    ("index_rows", "Rows that its index takes, those of replaced and deleted documents included."),
    ("index_version_lag", "Versions of the collection that its index has not seen yet."),
    ("bytes_per_document", "Bytes of vectors and token codes, a document on average."),
)


class Metrics:
    """All series of one application, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        self.requests = Counter("semblance_requests", "Requests answered.", ("route", "method", "status"), registry=own)
        self.request_seconds = Histogram(
            "semblance_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=own
        )
        self.errors = Counter(
            "semblance_errors", "Requests refused or failed, by problem code.", ("code",), registry=own
        )
        self.stage_seconds = Histogram(
            "semblance_stage_seconds", "Time of a request by stage.", ("stage",), buckets=_SECONDS, registry=own
        )
        self.queued_tokens = Gauge(
            "semblance_queued_tokens", "Tokens waiting for the model.", ("urgency",), registry=own
        )
        self.pass_seconds = Histogram(
            "semblance_pass_seconds", "Time of one pass of the model.", buckets=_SECONDS, registry=own
        )
        self.failed_passes = Counter(
            "semblance_failed_passes", "Passes of the model that failed and were tried again in halves.", registry=own
        )
        self.batch_texts = Histogram(
            "semblance_batch_texts", "Texts in one pass of the model.", buckets=_COUNTS, registry=own
        )
        self.batch_tokens = Counter("semblance_batch_tokens", "Tokens of the texts given to the model.", registry=own)
        self.cache_lookups = Counter(
            "semblance_cache_lookups", "Embeddings looked up: hit, or why not.", ("outcome",), registry=own
        )
        # looking up a series by its labels takes longer than counting
        self._requests = cache(self.requests.labels)
        self._request_seconds = cache(self.request_seconds.labels)
        self._stage_seconds = cache(self.stage_seconds.labels)
        self._cache_lookups = cache(self.cache_lookups.labels)
        self._of_collections = {
            name: Gauge(f"semblance_{name}", text, ("collection",), registry=own) for name, text in _OF_COLLECTIONS
        }
        self._store_reachable = Gauge(
            "semblance_store_reachable",
            "Whether the database of the documents answers.",
            registry=own,
        )
        self._store_reachable.set(1)
        self._store_contact = Gauge(
            "semblance_store_seconds_since_contact", "Seconds since that database last answered.", registry=own
        )
        self._left_out = Gauge(
            "semblance_collections_left_out", "Collections of it that could not be taken over.", registry=own
        )
        for outcome in ("hit", *get_args(Miss)):  # a rate needs the zero that came before
            self.cache_lookups.labels(outcome)
        for stage in STAGES:
            self.stage_seconds.labels(stage)
        self._queued_tokens = {urgency: self.queued_tokens.labels(urgency) for urgency in get_args(Urgency)}

    def answered(self, route: str, method: str, status: int, seconds: float, stages: Mapping[Stage, float]) -> None:
        """Count a request that took so long, and so long by stage."""
        self._requests(route, method, str(status)).inc()
        self._request_seconds(route).observe(seconds)
        for stage, spent in stages.items():
            self._stage_seconds(stage).observe(spent)

    def queued(self, urgency: Urgency, tokens: int) -> None:
        """Say how many tokens wait for the model."""
        self._queued_tokens[urgency].set(tokens)

    def passed(self, lengths: Sequence[int], seconds: float) -> None:
        """Count a pass of the model over texts of so many tokens."""
        self.batch_texts.observe(len(lengths))
        self.batch_tokens.inc(sum(lengths))
        self.pass_seconds.observe(seconds)

    def looked_up(self, outcomes: Iterable[Miss | Literal["hit"]]) -> None:
        """Count embeddings that were looked up."""
        for outcome, count in collections.Counter(outcomes).items():
            self._cache_lookups(outcome).inc(count)

    def expect(self, routes: Iterable[tuple[str, str]], codes: Iterable[str]) -> None:
        """Have the series of these routes with their methods, and of these problem codes, there before the first."""
        for route, method in routes:
            self.requests.labels(route, method, "200")
            self.request_seconds.labels(route)
        for code in codes:
            self.errors.labels(code)

    def show_collections(self, states: Iterable[IndexState]) -> None:
        """Set the gauges of collections; one that is gone has no series any more."""
        for gauge in self._of_collections.values():
            gauge.clear()
        for state in states:
            values = (state.size.documents, state.rows, state.lag, state.size.bytes_per_document)
            for gauge, value in zip(self._of_collections.values(), values, strict=True):
                gauge.labels(state.collection.name).set(value)

    def show_store(self, *, reachable: bool, seconds_since_contact: float, left_out: int) -> None:
        """Set the gauges of a database that is elsewhere."""
        self._store_reachable.set(reachable)
        self._store_contact.set(seconds_since_contact)
        self._left_out.set(left_out)

    def exposition(self) -> bytes:
        """The text format that Prometheus reads."""
        return generate_latest(self.registry)
