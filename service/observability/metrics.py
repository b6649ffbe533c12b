"""Metrics in the format of Prometheus."""

from __future__ import annotations

import collections
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from typing import Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from semblance.service.observability.stages import STAGES, Stage
from semblance.service.ports.embedding import Miss, Urgency
from semblance.service.ports.indexes import IndexState
from semblance.service.ports.paraphrases import LookupOutcome

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
MAX_CALLERS = 100  # names of keys with series of their own
OTHER_CALLERS = "other"
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_COLLECTION_GAUGES = (
    ("index_documents", "Documents in the collection."),
    ("index_rows", "Rows that its index takes, those of replaced and deleted documents included."),
    ("index_version_lag", "Versions of the collection that its index has not seen yet."),
    ("bytes_per_document", "Bytes of vectors and token codes, a document on average."),
)


class Metrics:
    """All series of one application, in a registry of its own, and those of its process."""

    def __init__(self) -> None:
        # they are a fifth of all series, and no query uses them; this holds for the whole process
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not annotate it
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        self._build = gauge(
            "semblance_build_info",
            "Always 1; the labels say what runs: build is the digest that GET /models shows of the default model.",
            ("version", "python", "model", "build"),
        )
        self.requests = counter("semblance_requests", "Requests answered.", ("route", "method", "status"))
        self.caller_requests = counter(
            "semblance_caller_requests", "Requests answered, by the name of their key.", ("caller", "status")
        )
        self.request_seconds = histogram("semblance_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS)
        self.errors = counter("semblance_errors", "Requests refused or failed, by problem code.", ("code",))
        self.stage_seconds = histogram(
            "semblance_stage_seconds", "Time of a request by stage.", ("stage",), buckets=_SECONDS
        )
        self.queued_tokens = gauge("semblance_queued_tokens", "Tokens waiting for the model.", ("urgency",))
        self.batch_seconds = histogram("semblance_pass_seconds", "Time of one batch of the model.", buckets=_SECONDS)
        self.failed_batches = counter(
            "semblance_failed_passes", "Batches of the model that failed and were retried in halves."
        )
        self.batch_texts = histogram("semblance_batch_texts", "Texts in one batch of the model.", buckets=_COUNTS)
        self.batch_tokens = counter("semblance_batch_tokens", "Tokens of the texts given to the model.")
        self.cache_lookups = counter("semblance_cache_lookups", "Embeddings looked up: hit, or why not.", ("outcome",))
        self.answer_lookups = counter(
            "semblance_semantic_cache_lookups",
            "Lookups of semantic caches: hit, or why the nearest text was refused.",
            ("outcome",),
        )
        self.saved_tokens = counter(
            "semblance_semantic_cache_saved_tokens", "Tokens that hits of these would have cost."
        )
        # looking up a series by its labels takes longer than counting
        self._requests = cache(self.requests.labels)
        self._caller_requests = cache(self.caller_requests.labels)
        self._callers: set[str] = set()
        self._request_seconds = cache(self.request_seconds.labels)
        self._stage_seconds = cache(self.stage_seconds.labels)
        self._cache_lookups = cache(self.cache_lookups.labels)
        self._collection_gauges = {
            name: gauge(f"semblance_{name}", text, ("collection",)) for name, text in _COLLECTION_GAUGES
        }
        self._store_reachable = gauge("semblance_store_reachable", "Whether the database of the documents answers.")
        self._store_reachable.set(1)
        self._store_contact = gauge(
            "semblance_store_seconds_since_contact", "Seconds since that database last answered."
        )
        self._left_out = gauge(
            "semblance_collections_left_out",
            "Collections that were not copied, or need a model that is not served.",
        )
        self._store_writable = gauge("semblance_store_writable", "Whether the last write met no full or failing disk.")
        self._disk_free = gauge("semblance_disk_free_bytes", "Free space on the disk of SEMBLANCE_HOME.")
        for outcome in ("hit", *_values(Miss)):  # a rate needs the zero that came before
            self.cache_lookups.labels(outcome)
        for found in _values(LookupOutcome):
            self.answer_lookups.labels(found)
        for stage in STAGES:
            self.stage_seconds.labels(stage)
        self._queued_tokens = {urgency: self.queued_tokens.labels(urgency) for urgency in get_args(Urgency)}

    def set_build(self, model: str, build: str) -> None:
        """Set the labels of the running build: name and digest of the default model."""
        self._build.labels(version("semblance-server"), platform.python_version(), model, build).set(1)

    def add_request(self, route: str, method: str, status: int, seconds: float, stages: Mapping[Stage, float]) -> None:
        """Count a request with its duration, in total and by stage."""
        self._requests(route, method, str(status)).inc()
        self._request_seconds(route).observe(seconds)
        for stage, spent in stages.items():
            self._stage_seconds(stage).observe(spent)

    def add_caller(self, caller: str, status: int) -> None:
        """Count a request by the name of its key; beyond MAX_CALLERS names, as of `other`."""
        if caller not in self._callers and len(self._callers) >= MAX_CALLERS:
            caller = OTHER_CALLERS
        else:
            self._callers.add(caller)
        self._caller_requests(caller, str(status)).inc()

    def set_queued(self, urgency: Urgency, tokens: int) -> None:
        """Set the number of tokens that wait for the model."""
        self._queued_tokens[urgency].set(tokens)

    def add_batch(self, lengths: Sequence[int], seconds: float) -> None:
        """Count a batch of the model, by the lengths of its texts in tokens."""
        self.batch_texts.observe(len(lengths))
        self.batch_tokens.inc(sum(lengths))
        self.batch_seconds.observe(seconds)

    def add_lookups(self, outcomes: Iterable[Miss | Literal["hit"]]) -> None:
        """Count cache lookups of embeddings."""
        for outcome, count in collections.Counter(outcomes).items():
            self._cache_lookups(outcome).inc(count)

    def add_answer_lookup(self, outcome: LookupOutcome, saved_tokens: int) -> None:
        """Count a lookup of a semantic cache, and the tokens that it saved."""
        self.answer_lookups.labels(outcome).inc()
        self.saved_tokens.inc(saved_tokens)

    def initialize(self, routes: Iterable[tuple[str, str]], codes: Iterable[str]) -> None:
        """Create the series of these routes (path, method) and problem codes at zero."""
        for route, method in routes:
            self.requests.labels(route, method, "200")
            self.request_seconds.labels(route)
        for code in codes:
            self.errors.labels(code)

    def set_collections(self, states: Iterable[IndexState]) -> None:
        """Set the gauges of collections; the series of deleted collections are removed."""
        for gauge in self._collection_gauges.values():
            gauge.clear()
        for state in states:
            values = (state.size.documents, state.rows, state.lag, state.size.bytes_per_document)
            for gauge, value in zip(self._collection_gauges.values(), values, strict=True):
                gauge.labels(state.collection.name).set(value)

    def set_left_out(self, collections: int) -> None:
        """Set the number of collections that are not served here."""
        self._left_out.set(collections)

    def set_disk(self, *, writable: bool, free_bytes: int) -> None:
        """Set the gauges of the disk of this process, and of that of the store."""
        self._store_writable.set(writable)
        self._disk_free.set(free_bytes)

    def set_store(self, *, reachable: bool, seconds_since_contact: float) -> None:
        """Set the gauges of a primary database elsewhere."""
        self._store_reachable.set(reachable)
        self._store_contact.set(seconds_since_contact)

    def exposition(self) -> bytes:
        """All series in the text format of Prometheus."""
        return generate_latest(self.registry)


def _values(choices: object) -> list[str]:
    """The strings of a Literal, or of a union of several."""
    return [choices] if isinstance(choices, str) else [value for each in get_args(choices) for value in _values(each)]
