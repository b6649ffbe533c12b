"""The numbers that Prometheus collects."""

from __future__ import annotations

from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from service.ports import Miss

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


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
        self.queued_tokens = Gauge("semblance_queued_tokens", "Tokens waiting for the model.", registry=own)
        self.batch_texts = Histogram(
            "semblance_batch_texts", "Texts in one pass of the model.", buckets=_COUNTS, registry=own
        )
        self.batch_tokens = Counter(
            "semblance_batch_tokens", "Tokens given to the model: real ones and padding.", ("kind",), registry=own
        )
        self.cache_lookups = Counter(
            "semblance_cache_lookups", "Embeddings looked up: hit, or why not.", ("outcome",), registry=own
        )
        for outcome in ("hit", *get_args(Miss)):  # a rate needs the zero that came before
            self.cache_lookups.labels(outcome)
        self.index_documents = Gauge(
            "semblance_index_documents", "Documents in the index.", ("collection",), registry=own
        )

    def exposition(self) -> bytes:
        """The text format that Prometheus reads."""
        return generate_latest(self.registry)
