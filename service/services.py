"""The services of a process, which routes receive by type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from semblance.service.observability.metrics import Metrics
from semblance.service.replication.access import CollectionAccess

Service = TypeVar("Service")


class Services:
    """Registry of services by type, created by the composition root.

    >>> Services("a text", 3)[int]
    3
    """

    def __init__(self, *services: object) -> None:
        self._by_type = {type(service): service for service in services}

    def __getitem__(self, kind: type[Service]) -> Service:
        """The service of that type. Raises KeyError if there is none."""
        return cast("Service", self._by_type[kind])


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """The metrics, with the gauges of collections and of the store set at each request."""

    metrics: Metrics
    collections: CollectionAccess
    show_store: Callable[[Metrics], None]

    async def exposition(self) -> bytes:
        """The page in the text format of Prometheus."""
        self.metrics.set_collections(await self.collections.states())
        self.show_store(self.metrics)
        return self.metrics.exposition()
